// Task: the mean over all samples when the ranks hold different numbers of them, as with texts of
// different lengths or a short last batch. Each rank passes the sum of its losses, the number of
// positions in that sum, and the gradient of the sum. Compute what one device with all samples
// would have: return the mean loss, and leave its gradient in each grad. A rank may have nothing to
// count, and so may all of them.
// The contract stands in engine/parallel/data_parallel/token_weighted_mean.hpp.
#include "engine/parallel/data_parallel/token_weighted_mean.hpp"

#include <array>

namespace lockstep::data_parallel {

double weighted_average(comm::ProcessGroup& group, std::span<Parameter* const> parameters,
                        const LossSum& mine) {
  // >>> your code
  Device& device = parameters.front()->value.device();
  const std::array own{mine.sum, static_cast<double>(mine.counted)};  // exact up to 2^53
  const Tensor totals = from_values(own, {2}, DType::float64, device);
  group.all_reduce(totals, ReduceOp::sum);
  const double sum = totals.item(0), counted = totals.item(1);
  if (counted == 0) return 0;

  for (const Parameter* parameter : parameters) {
    const Tensor& grad = parameter->grad;
    if (!grad.defined()) continue;
    grad.scale_(1 / counted);
    group.all_reduce(grad, ReduceOp::sum);
  }
  return sum / counted;
  // <<< your code
}

}  // namespace lockstep::data_parallel
