// One number instead of two: a sum of squares is infinite or NaN where an element is. The scale is
// divided out by the factor that clips.
#include "engine/parallel/zero/mixed_precision_step.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "engine/tensor/ops.hpp"

namespace lockstep::zero {

StepEnd mixed_precision_step(comm::ProcessGroup& group, MixedPrecision& state,
                             const ScaledBackward& backward, double max_norm) {
  auto& [value, good_steps, interval] = state.scale;
  backward(value);
  Parameter& master = *state.master;
  const Tensor range =
      zeros({master.value.numel()}, state.gradients.dtype(), master.value.device());
  group.reduce_scatter_async(state.gradients, range, ReduceOp::average).wait();
  const Tensor gradient = range.to(DType::float32);
  const Tensor squares = ops::sum_of_squares({&gradient, 1});
  group.all_reduce(squares, ReduceOp::sum);
  const double norm = std::sqrt(number_of(squares)) / value;
  if (!std::isfinite(norm)) {
    value *= 0.5F;
    good_steps = 0;
    return StepEnd::skipped;
  }
  const double clip = max_norm > 0 ? std::min(1.0, max_norm / (norm + 1e-6)) : 1.0;
  gradient.scale_(clip / value);
  master.grad = gradient;
  state.optimizer->step();
  group.all_gather(master.value.to(state.parameters.dtype()), state.parameters);
  if (++good_steps >= interval) {
    value += value;
    good_steps = 0;
  }
  return StepEnd::taken;
}

}  // namespace lockstep::zero
