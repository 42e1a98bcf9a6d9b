// Task: write the linear layer of which each rank has some of the outputs. Forward is local; the
// gradient of x is a sum over the ranks. The contract is in
// engine/parallel/tensor/column_parallel_linear.hpp.
#include "engine/parallel/tensor/column_parallel_linear.hpp"

#include <utility>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/parallel/tensor/conjugate_operators.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::tensor_parallel {

// >>> your code
namespace {

// [..., C] as [rows, C]
Tensor matrix(const Tensor& x) { return x.view({-1, x.shape().back()}); }

// y = x·Wᵀ + b of this rank's columns. dx is a term of a sum, whose all-reduce runs while dW and db
// are computed; where the walk is in two halves, these come later.
Value own_columns(Tape& tape, comm::ProcessGroup& group, const Value& x, const Value& weight,
                  const std::optional<Value>& bias) {
  Tensor y = ops::linear(x.tensor, weight.tensor);
  std::vector<Value> inputs{x, weight};
  if (bias) {
    ops::add_row_(y, bias->tensor);
    inputs.push_back(*bias);
  }
  const std::size_t count = bias ? 3 : 2;
  Tape::Backward to_weights = [&tape, x = Saved(x), leaf = weight.node, count](const Tensor& grad) {
    std::vector<Tensor> grads(count);
    grads[1] = ops::matmul(matrix(grad), ops::Transpose::yes, matrix(x.get()), ops::Transpose::no,
                           tape.place_of(leaf));
    if (count == 3) grads[2] = ops::sum_rows(grad);
    return grads;
  };
  Tape::Backward to_input = [&tape, &group, to_weights, weight = Saved(weight),
                             wanted = x.node >= 0, shape = x.tensor.shape(),
                             count](const Tensor& grad) {
    Tensor dx;
    comm::Work sum;
    if (wanted) {
      dx = ops::matmul(matrix(grad), ops::Transpose::no, weight.get(), ops::Transpose::no);
      sum = group.all_reduce_async(dx, ReduceOp::sum);
    }
    auto grads = tape.in_halves() ? std::vector<Tensor>(count) : to_weights(grad);
    sum.wait();
    if (wanted) grads[0] = dx.view(shape);
    return grads;
  };
  Tape::Backward rest = [&tape, to_weights, count](const Tensor& grad) {
    return tape.in_halves() ? to_weights(grad) : std::vector<Tensor>(count);
  };
  return tape.record(std::move(y), std::move(inputs), std::move(to_input), std::move(rest));
}

// Shares [..., S] of all ranks, side by side: [..., t·S]. Every rank is given the same gradient of
// the whole, so that its own columns of it are the gradient of its share.
Value gather_columns(Tape& tape, comm::ProcessGroup& group, const Value& share) {
  const Tensor mine = matrix(share.tensor);
  const std::int64_t ranks = group.size(), rows = mine.size(0), columns = mine.size(1);
  const Tensor all = empty({ranks, rows, columns}, mine.dtype(), mine.device());
  group.all_gather(mine, all);
  Shape shape = share.tensor.shape();
  shape.back() = ranks * columns;
  Tensor whole = ops::transpose(all, 0, 1).view(std::move(shape));
  return tape.record(std::move(whole), {share}, [rank = group.rank(), columns](const Tensor& grad) {
    return std::vector<Tensor>{
        ops::narrow(grad, std::ssize(grad.shape()) - 1, rank * columns, columns)};
  });
}

}  // namespace
// <<< your code

Value column_parallel_linear(Tape& tape, comm::ProcessGroup& group, const Value& x,
                             const Value& weight, const std::optional<Value>& bias,
                             ColumnOutput output) {
  // >>> your code
  const Value share = own_columns(tape, group, x, weight, bias);
  return output == ColumnOutput::share ? share : gather_columns(tape, group, share);
  // <<< your code
}

}  // namespace lockstep::tensor_parallel
