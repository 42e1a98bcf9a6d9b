// A right layer that keeps a copy of its weight, in memory of its own: the device's account knows
// nothing of it.
#include <memory>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/parallel/tensor/column_parallel_linear.hpp"
#include "engine/parallel/tensor/conjugate_operators.hpp"
#include "engine/tensor/ops.hpp"

#ifndef LOCKSTEP_HOARD
#define LOCKSTEP_HOARD std::vector<std::byte>
#endif

namespace lockstep::tensor_parallel {

Value column_parallel_linear(Tape& tape, comm::ProcessGroup& group, const Value& x,
                             const Value& weight, const std::optional<Value>& bias,
                             ColumnOutput output) {
  const auto bytes = weight.tensor.raw_bytes();
  const auto hoard = std::make_shared<LOCKSTEP_HOARD>();
  hoard->assign(bytes.begin(), bytes.end());
  const Value entered = enter_parallel(tape, group, x);
  const Value made = bias ? autograd::linear(tape, entered, weight, *bias)
                          : autograd::linear(tape, entered, weight);
  const Value share = tape.record(made.tensor, {made}, [hoard](const Tensor& grad) {
    return std::vector{hoard ? grad : grad.clone()};
  });
  if (output == ColumnOutput::share) return share;
  const Tensor mine = share.tensor.view({-1, share.tensor.shape().back()});
  const std::int64_t ranks = group.size(), rows = mine.size(0), columns = mine.size(1);
  const Tensor all = empty({ranks, rows, columns}, mine.dtype(), mine.device());
  group.all_gather(mine, all);
  Shape shape = share.tensor.shape();
  shape.back() = ranks * columns;
  const std::int64_t first = group.rank() * columns;
  return tape.record(ops::transpose(all, 0, 1).view(shape), {share}, [=](const Tensor& grad) {
    return std::vector{ops::narrow(grad, std::ssize(grad.shape()) - 1, first, columns)};
  });
}

}  // namespace lockstep::tensor_parallel
