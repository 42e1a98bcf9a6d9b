// f in front of the layer of one device; the gathered shares are joined by columns, each a matrix.
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/parallel/tensor/column_parallel_linear.hpp"
#include "engine/parallel/tensor/conjugate_operators.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::tensor_parallel {

Value column_parallel_linear(Tape& tape, comm::ProcessGroup& group, const Value& x,
                             const Value& weight, const std::optional<Value>& bias,
                             ColumnOutput output) {
  const Value entered = enter_parallel(tape, group, x);
  const Value share = bias ? autograd::linear(tape, entered, weight, *bias)
                           : autograd::linear(tape, entered, weight);
  if (output == ColumnOutput::share) return share;
  const std::int64_t columns = share.tensor.shape().back();
  const std::int64_t rows = columns == 0 ? 0 : share.tensor.numel() / columns;
  const Tensor all = empty({group.size() * rows, columns}, x.tensor.dtype(), x.tensor.device());
  group.all_gather(share.tensor, all);
  std::vector<Tensor> shares;
  for (std::int64_t rank = 0; rank < group.size(); ++rank) {
    shares.push_back(all.narrow(rank * rows, rows));
  }
  Shape shape = share.tensor.shape();
  shape.back() *= group.size();
  const Tensor whole = ops::concatenate(shares, 1).view(shape);
  const std::int64_t first = group.rank() * columns;
  return tape.record(whole, {share}, [first, columns](const Tensor& grad) {
    const std::int64_t last = std::ssize(grad.shape()) - 1;
    return std::vector<Tensor>{ops::narrow(grad, last, first, columns)};
  });
}

}  // namespace lockstep::tensor_parallel
