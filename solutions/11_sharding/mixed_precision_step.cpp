// Task: take one step in mixed precision. Run backward with the scaled loss, average the gradients
// in 16 bits, and let all ranks decide together whether one of them is infinite or NaN. Then update
// the float32 masters and give their 16-bit copies to all ranks, or skip the step. In both cases,
// adjust the scale. The contract is in engine/parallel/zero/mixed_precision_step.hpp; the helpers
// unscale_ (which multiplies by its second argument, so give it 1 / scale), sum_of_squares and
// clip_factor are operations of engine/tensor/ops.hpp.
#include "engine/parallel/zero/mixed_precision_step.hpp"

#include <span>

#include "engine/tensor/ops.hpp"

namespace lockstep::zero {

StepEnd mixed_precision_step(comm::ProcessGroup& group, MixedPrecision& state,
                             const ScaledBackward& backward, double max_norm) {
  // >>> your code
  LossScale& scale = state.scale;
  Parameter& master = *state.master;
  const std::int64_t count = master.value.numel();
  backward(scale.value);

  const Tensor range = state.gradients.narrow(group.rank() * count, count);
  group.reduce_scatter(state.gradients, range, ReduceOp::average);
  master.grad = range.to(DType::float32, MemoryKind::gradients);
  const std::span<const Tensor> gradient(&master.grad, 1);
  const Tensor not_finite = ops::unscale_(gradient, 1.0 / scale.value);
  group.all_reduce(not_finite, ReduceOp::max);
  const bool skips = number_of(not_finite) != 0;

  if (!skips) {
    if (max_norm > 0) {
      const Tensor squares = ops::sum_of_squares(gradient);
      group.all_reduce(squares, ReduceOp::sum);
      ops::scale_by_(master.grad, ops::clip_factor(squares, max_norm).factor);
    }
    state.optimizer->step();
    group.all_gather(master.value.to(state.parameters.dtype()), state.parameters);
  }
  state.optimizer->zero_grad();

  if (skips) {
    scale.value /= 2;
    scale.good_steps = 0;
  } else if (++scale.good_steps == scale.interval) {
    scale.value *= 2;
    scale.good_steps = 0;
  }
  return skips ? StepEnd::skipped : StepEnd::taken;
  // <<< your code
}

}  // namespace lockstep::zero
