// One all-reduce over a flat copy of all gradients of each dtype.
#include <set>

#include "engine/parallel/data_parallel/average_gradients.hpp"

namespace lockstep::data_parallel {

namespace {

void average_those_of(DType dtype, comm::ProcessGroup& group,
                      std::span<Parameter* const> parameters) {
  const auto each = [&](auto visit) {
    for (const Parameter* parameter : parameters) {
      const Tensor& grad = parameter->grad;
      if (grad.defined() && grad.dtype() == dtype) visit(grad.view({grad.numel()}));
    }
  };
  std::int64_t count = 0;
  Tensor any;
  each([&](const Tensor& grad) {
    any = grad;
    count += grad.numel();
  });
  if (count == 0) return;
  const Tensor flat = any.empty_like(count);
  std::int64_t start = 0;
  each([&](const Tensor& grad) {
    flat.narrow(start, grad.numel()).copy_(grad);
    start += grad.numel();
  });
  flat.scale_(1.0 / group.size());
  group.all_reduce(flat, ReduceOp::sum);
  start = 0;
  each([&](const Tensor& grad) {
    grad.copy_(flat.narrow(start, grad.numel()));
    start += grad.numel();
  });
}

}  // namespace

void average_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  std::set<DType> dtypes;
  for (const Parameter* parameter : parameters) {
    if (parameter->grad.defined()) dtypes.insert(parameter->grad.dtype());
  }
  for (const DType dtype : dtypes) average_those_of(dtype, group, parameters);
}

}  // namespace lockstep::data_parallel
