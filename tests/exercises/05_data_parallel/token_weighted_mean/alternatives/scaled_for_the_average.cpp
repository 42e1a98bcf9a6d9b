// Each rank scales its sum by N / Σcounted, so that the plain average over the ranks is the mean.
#include "engine/parallel/data_parallel/token_weighted_mean.hpp"

#include <algorithm>

#include "engine/parallel/data_parallel/average_gradients.hpp"

namespace lockstep::data_parallel {

double weighted_average(comm::ProcessGroup& group, std::span<Parameter* const> parameters,
                        const LossSum& mine) {
  Device& device = parameters.front()->value.device();
  const Tensor totals = empty({2}, DType::float64, device);
  totals.data<double>()[0] = mine.sum;
  totals.data<double>()[1] = static_cast<double>(mine.counted);
  group.all_reduce(totals, ReduceOp::sum);
  const double counted = std::max(totals.item(1), 1.0);
  for (Parameter* parameter : parameters) {
    if (parameter->grad.defined()) parameter->grad.scale_(group.size() / counted);
  }
  average_gradients(group, parameters);
  return totals.item(0) / counted;
}

}  // namespace lockstep::data_parallel
