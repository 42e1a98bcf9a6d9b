#include "engine/optim/loss_scaler.hpp"

#include <cmath>
#include <vector>

#include "engine/tensor/ops.hpp"

namespace lockstep::optim {
namespace {

constexpr int overflows_max = 17;  // in a row, of a fixed scale

void check_scale(float scale) {
  LOCKSTEP_CHECK(scale > 0 && std::isfinite(scale), "loss scaler: a scale of ", scale,
                 "; it is a positive number, 65536 where nothing else is known");
}

}  // namespace

LossScaler::LossScaler(const LossScalerOptions& options)
    : options_(options), state_{options.initial_scale, 0} {
  check_scale(options.initial_scale);
  check_scale(options.least);
  LOCKSTEP_CHECK(options.growth > 1 && options.backoff > 0 && options.backoff < 1,
                 "loss scaler: growth ", options.growth, " and backoff ", options.backoff,
                 "; the first is above 1, the second between 0 and 1");
  LOCKSTEP_CHECK(options.interval >= 1, "loss scaler: grows every ", options.interval,
                 " updates; the interval is 1 at least");
}

Overflow LossScaler::unscale_and_check(std::span<Parameter* const> parameters) const {
  std::vector<Tensor> grads;
  for (const Parameter* parameter : parameters) {
    if (parameter->grad.defined()) grads.push_back(parameter->grad);
  }
  return grads.empty() ? Overflow::no : told_by(unscale(grads));
}

Tensor LossScaler::unscale(std::span<const Tensor> grads) const {
  return ops::unscale_(grads, 1 / static_cast<double>(state_.scale));
}

Overflow LossScaler::told_by(const Tensor& found) {
  if (!found.device().has_numbers()) return Overflow::no;
  return number_of(found) != 0 ? Overflow::yes : Overflow::no;
}

void LossScaler::update(Overflow overflow) {
  overflows_ = overflow == Overflow::yes ? overflows_ + 1 : 0;
  if (overflow == Overflow::yes) {
    ++skipped_;
    const bool fixed = options_.rule == ScaleRule::fixed;
    const float reduced = state_.scale * options_.backoff;
    if (fixed ? overflows_ == overflows_max : reduced < options_.least) {
      const std::string scales =
          fixed ? text("in ", overflows_, " steps in a row at the fixed loss scale ", state_.scale,
                       ": it is too large, or ")
                : text("at every loss scale down to ", state_.scale, ": ");
      throw Error(text("the gradients overflowed ", scales,
                       "the weights or the loss are no longer finite, or too large for 16 bits; ",
                       fixed ? "pass a smaller --loss-scale or dynamic, " : "pass ",
                       "a smaller --lr, or --dtype bfloat16, which has the range of float32"));
    }
    state_ = {fixed ? state_.scale : reduced, 0};
  } else if (options_.rule == ScaleRule::fixed) {
    return;
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
