// The count as an integer, the sum of losses by itself, and the division after the sum.
#include "engine/parallel/data_parallel/token_weighted_mean.hpp"

namespace lockstep::data_parallel {

double weighted_average(comm::ProcessGroup& group, std::span<Parameter* const> parameters,
                        const LossSum& mine) {
  Device& device = parameters.front()->value.device();
  const Tensor count = empty({1}, DType::int64, device);
  count.data<std::int64_t>()[0] = mine.counted;
  group.all_reduce(count, ReduceOp::sum);
  const std::int64_t counted = count.data<std::int64_t>()[0];

  const Tensor loss = full({1}, mine.sum, DType::float64, device);
  group.all_reduce(loss, ReduceOp::sum);
  for (Parameter* parameter : parameters) {
    if (!parameter->grad.defined()) continue;
    group.all_reduce(parameter->grad, ReduceOp::sum);
    if (counted > 0) parameter->grad.scale_(1.0 / static_cast<double>(counted));
  }
  return counted > 0 ? loss.item() / static_cast<double>(counted) : 0.0;
}

}  // namespace lockstep::data_parallel
