// Wrong on purpose: a rank computes its columns and the gradient of x that they give, and does not
// sum this gradient over the ranks.
#include "engine/autograd/operations.hpp"
#include "engine/parallel/tensor/column_parallel_linear.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::tensor_parallel {
namespace {

Value own_columns(Tape& tape, const Value& x, const Value& weight,
                  const std::optional<Value>& bias) {
  if (!bias) return autograd::linear(tape, x, weight);
  return autograd::linear(tape, x, weight, *bias);
}

}  // namespace

// The whole output is asked for in evaluation only, which has no backward pass.
Value column_parallel_linear(Tape& tape, comm::ProcessGroup& group, const Value& x,
                             const Value& weight, const std::optional<Value>& bias,
                             ColumnOutput output) {
  const Value share = own_columns(tape, x, weight, bias);
  if (output == ColumnOutput::share) return share;
  Shape shape = share.tensor.shape();
  const std::int64_t columns = shape.back();
  const Tensor mine = share.tensor.view({-1, columns});
  const Tensor all = empty({group.size(), mine.size(0), columns}, mine.dtype(), mine.device());
  group.all_gather(mine, all);
  shape.back() = group.size() * columns;
  return tape.constant(ops::transpose(all, 0, 1).view(shape));
}

}  // namespace lockstep::tensor_parallel
