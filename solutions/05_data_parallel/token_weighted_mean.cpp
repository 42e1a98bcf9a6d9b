// Task: the mean over all samples when the ranks hold different numbers of them, as they do with
// texts of different lengths or a short last batch. Each rank brings the sum of its losses, how
// many positions that sum is over, and the gradient of the sum. Make of it what one device would
// have had that held them all: return the mean loss, and leave in each grad the gradient of it. A
// rank may have nothing to count, and so may all of them.
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
