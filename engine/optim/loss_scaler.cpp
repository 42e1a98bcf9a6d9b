#include "engine/optim/loss_scaler.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/tensor/visit_float.hpp"

namespace lockstep::optim {
namespace {

void check_scale(float scale) {
  LOCKSTEP_CHECK(scale > 0 && std::isfinite(scale), "loss scaler: a scale of ", scale,
                 "; it is a positive number, 65536 where nothing else is known");
}

// Scales in place; true when an element was infinite or NaN before. The test is on the exponent's
// bits, all ones, so that the loop has no branch.
template <typename T>
bool scale_and_look(std::span<T> elements, T factor) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const auto exponent = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  Bits found = 0;
  for (T& element : elements) {
    found |= (std::bit_cast<Bits>(element) & exponent) == exponent ? Bits(1) : Bits(0);
    element *= factor;
  }
  return found != 0;
}

}  // namespace

LossScaler::LossScaler(const LossScalerOptions& options)
    : options_(options), state_{options.initial_scale, 0} {
  check_scale(options.initial_scale);
  LOCKSTEP_CHECK(options.growth > 1 && options.backoff > 0 && options.backoff < 1,
                 "loss scaler: growth ", options.growth, " and backoff ", options.backoff,
                 "; the first is above 1, the second between 0 and 1");
  LOCKSTEP_CHECK(options.interval >= 1, "loss scaler: grows every ", options.interval,
                 " updates; the interval is 1 at least");
}

Overflow LossScaler::unscale_and_check(std::span<Parameter* const> parameters) const {
  const double inverse = 1 / static_cast<double>(state_.scale);
  bool found = false;
  for (const Parameter* parameter : parameters) {
    const Tensor& grad = parameter->grad;
    if (!grad.defined()) continue;
    visit_float("loss scaler", grad, [&]<typename T>() {
      found |= scale_and_look(grad.data<T>(), static_cast<T>(inverse));
    });
    grad.device().charge(static_cast<double>(grad.numel()),
                         2.0 * static_cast<double>(grad.bytes()));
  }
  return found ? Overflow::yes : Overflow::no;
}

void LossScaler::update(Overflow overflow) {
  if (overflow == Overflow::yes) {
    const float reduced = state_.scale * options_.backoff;
    if (reduced < std::numeric_limits<float>::min()) {
      throw Error(text("loss scaler: gradients overflowed at every scale down to ", state_.scale,
                       "; the loss itself is not finite, look at the rate and the data"));
    }
    state_ = {reduced, 0};
  } else if (++state_.clean_updates == options_.interval) {
    const float grown = state_.scale * options_.growth;
    state_ = {std::isfinite(grown) ? grown : state_.scale, 0};
  }
}

void LossScaler::load_state(const LossScalerState& state) {
  check_scale(state.scale);
  LOCKSTEP_CHECK(state.clean_updates >= 0 && state.clean_updates < options_.interval,
                 "loss scaler: ", state.clean_updates, " clean updates, but the scale grows every ",
                 options_.interval,
                 "; load a state into a scaler with the interval it was saved with");
  state_ = state;
}

}  // namespace lockstep::optim
