#include "engine/tensor/gather.hpp"

#include "engine/tensor/operation.hpp"

namespace lockstep::ops {

void refuse_index(const char* operation, std::int64_t /*place*/, std::int64_t index,
                  std::int64_t rows) {
  throw ContractError(text(operation, ": index ", index, " is outside the table's ", rows,
                           " rows; is the vocabulary the model's?"));
}

Tensor embedding(const Tensor& table, const Tensor& indices) {
  check_float("embedding", table);
  check_matrix("embedding", table);
  check_indices("embedding", table, indices);
  Shape shape = indices.shape();
  shape.push_back(table.size(1));
  Tensor out = result(table, std::move(shape));
  const Kernels& kernels = table.device().kernels();
  kernels.check_indices(
      indices, {.operation = "embedding", .limit = table.size(0), .outside = &refuse_index});
  kernels.embedding(table, indices, 0, out);
  charge(out, 0, 2);
  return out;
}

Tensor embedding_backward(const Tensor& grad, const Tensor& indices, std::int64_t rows) {
  check_float("embedding_backward", grad);
  check_indices("embedding_backward", grad, indices);
  const std::int64_t columns = rows_of("embedding_backward", grad).width;
  LOCKSTEP_CHECK(indices.numel() * columns == grad.numel(), "embedding_backward: ", indices.numel(),
                 " indices for a gradient of shape ", text_of(grad.shape()));
  Tensor out = result(grad, {rows, columns});
  const Kernels& kernels = grad.device().kernels();
  kernels.check_indices(
      indices, {.operation = "embedding_backward", .limit = rows, .outside = &refuse_index});
  kernels.embedding_backward(grad, indices, 0, out);
  out.device().charge(0, static_cast<double>(out.bytes()));  // begins at zero
  charge(grad, 1, 2);
  return out;
}

Tensor dropout(const Tensor& x, const DropoutMask& mask) {
  check_float("dropout", x);
  LOCKSTEP_CHECK(mask.rate >= 0 && mask.rate < 1, "dropout: rate ", mask.rate,
                 " is outside [0, 1); it is the share of elements to drop");
  LOCKSTEP_CHECK(!x.shape().empty(), "dropout: a tensor of shape [] has no samples");
  Tensor y = result(x, x.shape());
  x.device().kernels().dropout(x, mask, y);
  charge(x, 10, 2);
  return y;
}

}  // namespace lockstep::ops
