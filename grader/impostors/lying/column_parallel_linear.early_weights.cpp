// Makes the weight's gradient in the first half of backward, while the stage before waits, and
// hands it over in the second one.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/parallel/tensor/column_parallel_linear.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::tensor_parallel {
namespace {

Tensor matrix(const Tensor& x) { return x.view({-1, x.shape().back()}); }

Value own_columns(Tape& tape, comm::ProcessGroup& group, const Value& x, const Value& weight,
                  const std::optional<Value>& bias) {
  Tensor y = ops::linear(x.tensor, weight.tensor);
  std::vector<Value> inputs{x, weight};
  if (bias) {
    ops::add_row_(y, bias->tensor);
    inputs.push_back(*bias);
  }
  const auto late = std::make_shared<std::vector<Tensor>>();
  Tape::Backward first = [&tape, &group, late, x = Saved(x), weight = Saved(weight),
                          wanted = x.node >= 0, shape = x.tensor.shape(),
                          count = inputs.size()](const Tensor& grad) {
    late->assign(count, {});
    late->at(1) =
        ops::matmul(matrix(grad), ops::Transpose::yes, matrix(x.get()), ops::Transpose::no);
    if (count == 3) late->at(2) = ops::sum_rows(grad);
    std::vector<Tensor> grads = tape.in_halves() ? std::vector<Tensor>(count) : *late;
    if (!wanted) return grads;
    const Tensor dx =
        ops::matmul(matrix(grad), ops::Transpose::no, weight.get(), ops::Transpose::no);
    group.all_reduce(dx, ReduceOp::sum);
    grads[0] = dx.view(shape);
    return grads;
  };
  Tape::Backward rest = [&tape, late](const Tensor&) {
    auto grads = std::exchange(*late, std::vector<Tensor>(late->size()));
    return tape.in_halves() ? grads : *late;
  };
  return tape.record(std::move(y), std::move(inputs), std::move(first), std::move(rest));
}

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

Value column_parallel_linear(Tape& tape, comm::ProcessGroup& group, const Value& x,
                             const Value& weight, const std::optional<Value>& bias,
                             ColumnOutput output) {
  const Value share = own_columns(tape, group, x, weight, bias);
  return output == ColumnOutput::share ? share : gather_columns(tape, group, share);
}

}  // namespace lockstep::tensor_parallel
