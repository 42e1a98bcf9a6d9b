// The ranks agree before they reduce: each looks at its own gradients in 16 bits. The mean of
// finite gradients is finite, since each is multiplied by 1/N before the sum. A skipped step then
// sends one number only.
#include "engine/parallel/zero/mixed_precision_step.hpp"

#include <cmath>

#include "engine/tensor/ops.hpp"

namespace lockstep::zero {
namespace {

void adjust(LossScale& scale, StepEnd end) {
  const bool changes = end == StepEnd::skipped || scale.good_steps + 1 == scale.interval;
  if (changes) scale.value *= end == StepEnd::skipped ? 0.5F : 2.0F;
  scale.good_steps = changes ? 0 : scale.good_steps + 1;
}

}  // namespace

StepEnd mixed_precision_step(comm::ProcessGroup& group, MixedPrecision& state,
                             const ScaledBackward& backward, double max_norm) {
  backward(state.scale.value);
  Device& device = state.parameters.device();
  double worst = 0;
  for (std::int64_t e = 0; e < state.gradients.numel(); ++e) {
    if (!std::isfinite(state.gradients.item(e))) worst = 1;
  }
  const Tensor flag = full({1}, worst, DType::float32, device);
  group.all_reduce(flag, ReduceOp::max);
  if (flag.item() > 0) {
    adjust(state.scale, StepEnd::skipped);
    return StepEnd::skipped;
  }
  const Tensor mine = state.gradients.empty_like(state.master->value.numel());
  group.reduce_scatter(state.gradients, mine, ReduceOp::average);
  Tensor gradient = mine.to(DType::float32);
  gradient.scale_(1 / static_cast<double>(state.scale.value));
  if (max_norm > 0) {
    const Tensor squares = ops::sum_of_squares({&gradient, 1});
    group.all_reduce(squares, ReduceOp::sum);
    ops::scale_by_(gradient, ops::clip_factor(squares, max_norm).factor);
  }
  state.master->grad = gradient;
  state.optimizer->step();
  state.master->grad = {};
  const Tensor halves = state.master->value.to(state.parameters.dtype());
  group.all_gather(halves, state.parameters);
  adjust(state.scale, StepEnd::taken);
  return StepEnd::taken;
}

}  // namespace lockstep::zero
