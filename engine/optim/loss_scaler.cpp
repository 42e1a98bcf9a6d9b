#include "engine/optim/loss_scaler.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "engine/tensor/ops.hpp"

namespace lockstep::optim {
namespace {

void check_scale(float scale) {
  LOCKSTEP_CHECK(scale > 0 && std::isfinite(scale), "loss scaler: a scale of ", scale,
                 "; it is a positive number, 65536 where nothing else is known");
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
  std::vector<Tensor> grads;
  for (const Parameter* parameter : parameters) {
    if (parameter->grad.defined()) grads.push_back(parameter->grad);
  }
  if (grads.empty()) return Overflow::no;
  const Tensor found = ops::unscale_(grads, inverse);
  if (!found.device().has_numbers()) return Overflow::no;
  return number_of(found) != 0 ? Overflow::yes : Overflow::no;
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
