// One all-reduce over a flat copy of all gradients.
#include "engine/parallel/data_parallel/average_gradients.hpp"

namespace lockstep::data_parallel {

void average_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  std::int64_t count = 0;
  Tensor any;
  for (const Parameter* parameter : parameters) {
    if (!parameter->grad.defined()) continue;
    any = parameter->grad;
    count += any.numel();
  }
  if (count == 0) return;
  const Tensor flat = any.empty_like(count);
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
  flat.scale_(1.0 / group.size());
  group.all_reduce(flat, ReduceOp::sum);
  each([](const Tensor& grad, const Tensor& part) { grad.copy_(part); });
}

}  // namespace lockstep::data_parallel
