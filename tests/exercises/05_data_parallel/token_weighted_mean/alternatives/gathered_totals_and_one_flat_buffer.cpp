// Every rank gathers the totals of all and adds them itself, in the same order; one all-reduce is
// over a flat copy of the gradients.
#include "engine/parallel/data_parallel/token_weighted_mean.hpp"

#include <array>

namespace lockstep::data_parallel {

double weighted_average(comm::ProcessGroup& group, std::span<Parameter* const> parameters,
                        const LossSum& mine) {
  Device& device = parameters.front()->value.device();
  const std::array own{mine.sum, static_cast<double>(mine.counted)};
  const Tensor all = empty({2 * group.size()}, DType::float64, device);
  group.all_gather(from_values(own, {2}, DType::float64, device), all);
  double sum = 0, counted = 0;
  for (int rank = 0; rank < group.size(); ++rank) {
    sum += all.item(2 * rank);
    counted += all.item(2 * rank + 1);
  }
  const double factor = counted > 0 ? 1 / counted : 0;

  std::int64_t length = 0;
  for (const Parameter* parameter : parameters) {
    if (parameter->grad.defined()) length += parameter->grad.numel();
  }
  const Tensor flat = parameters.front()->value.empty_like(length);
  const auto each = [&](auto visit) {
    std::int64_t start = 0;
    for (const Parameter* parameter : parameters) {
      if (!parameter->grad.defined()) continue;
      const Tensor grad = parameter->grad.view({parameter->grad.numel()});
      visit(grad, flat.narrow(start, grad.numel()));
      start += grad.numel();
    }
  };
  each([](const Tensor& grad, const Tensor& part) { part.copy_(grad); });
  flat.scale_(factor);
  group.all_reduce(flat, ReduceOp::sum);
  each([](const Tensor& grad, const Tensor& part) { grad.copy_(part); });
  return sum * factor;
}

}  // namespace lockstep::data_parallel
