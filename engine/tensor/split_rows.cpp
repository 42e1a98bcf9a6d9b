#include "engine/tensor/split_rows.hpp"

#include "engine/tensor/operation.hpp"

namespace lockstep::ops {
namespace {

// `held` columns, or rows, of a tensor have room for those of the split.
void check_split(const char* operation, std::int64_t held, const ColumnSplit& split) {
  LOCKSTEP_CHECK(split.count >= 0 && split.count <= held && split.first >= 0 &&
                     (split.count == 0 || split.first <= split.whole - split.count),
                 operation, ": ", split.count, " of ", split.whole, " from number ", split.first,
                 " on are not what ", held, " places can hold");
}

Shape rows_shape(const Tensor& logits) {
  Shape shape = logits.shape();
  shape.pop_back();
  return shape;
}

void check_logits(const char* operation, const Tensor& logits, const ColumnSplit& columns) {
  check_float(operation, logits);
  check_split(operation, rows_of(operation, logits).width, columns);
}

void check_statistic(const char* operation, const char* what, const Tensor& statistic,
                     const Tensor& logits) {
  LOCKSTEP_CHECK(
      statistic.shape() == rows_shape(logits) && statistic.dtype() == statistic_of(logits.dtype()),
      operation, ": the ", what, " is ", name_of(statistic.dtype()), " ",
      text_of(statistic.shape()), ", expected one ", name_of(statistic_of(logits.dtype())),
      " for each row of logits ", text_of(logits.shape()));
  check_together(operation, logits, statistic);
}

void check_labels_of(const char* operation, const Tensor& rows, const Shape& shape,
                     const Tensor& labels) {
  check_indices(operation, rows, labels);
  LOCKSTEP_CHECK(labels.numel() == numel_of(shape), operation, ": ", labels.numel(),
                 " labels for rows ", text_of(shape), "; each row has one");
}

}  // namespace

Tensor row_maximum(const Tensor& logits, const ColumnSplit& columns) {
  check_logits("row_maximum", logits, columns);
  Tensor maximum = statistic(logits, rows_shape(logits));
  logits.device().kernels().row_maximum(logits, columns, maximum);
  charge(logits, 1, 1);
  return maximum;
}

Tensor sum_of_exponentials(const Tensor& logits, const Tensor& maximum,
                           const ColumnSplit& columns) {
  check_logits("sum_of_exponentials", logits, columns);
  check_statistic("sum_of_exponentials", "maximum", maximum, logits);
  Tensor sum = statistic(logits, rows_shape(logits));
  logits.device().kernels().sum_of_exponentials(logits, maximum, columns, sum);
  charge(logits, 11, 1);
  return sum;
}

Tensor picked_logits(const Tensor& logits, const Tensor& labels, const ColumnSplit& columns,
                     const CrossEntropyOptions& options) {
  check_logits("picked_logits", logits, columns);
  check_labels_of("picked_logits", logits, rows_shape(logits), labels);
  const bool mean = options.reduction == Reduction::mean;
  const Kernels& kernels = logits.device().kernels();
  kernels.check_indices(labels,
                        {.operation = "picked_logits",
                         .limit = columns.whole,
                         .ignored = options.ignored_label,
                         .some = mean ? IndexRule::Some::needed : IndexRule::Some::may_be_none,
                         .outside = &refuse_label});
  Tensor picked = statistic(logits, rows_shape(logits));
  kernels.picked_logits(logits, labels, columns, options, picked);
  charge(picked, 0, 2);
  return picked;
}

Tensor split_cross_entropy(const Tensor& maximum, const Tensor& sum, const Tensor& picked,
                           const Tensor& labels, const CrossEntropyOptions& options) {
  check_float("split_cross_entropy", maximum);
  check_same("split_cross_entropy", maximum, sum);
  check_same("split_cross_entropy", maximum, picked);
  check_labels_of("split_cross_entropy", maximum, maximum.shape(), labels);
  Tensor loss = result(maximum, {1});
  maximum.device().kernels().split_cross_entropy(maximum, sum, picked, labels, options, loss);
  charge(maximum, 10, 3);
  return loss;
}

Tensor split_cross_entropy_backward(const Tensor& grad, const Tensor& logits, const Tensor& maximum,
                                    const Tensor& sum, const Tensor& labels,
                                    const ColumnSplit& columns,
                                    const CrossEntropyOptions& options) {
  constexpr const char* operation = "split_cross_entropy_backward";
  check_logits(operation, logits, columns);
  check_statistic(operation, "maximum", maximum, logits);
  check_statistic(operation, "sum", sum, logits);
  check_labels_of(operation, logits, rows_shape(logits), labels);
  LOCKSTEP_CHECK(grad.numel() == 1 && grad.dtype() == maximum.dtype(), operation,
                 ": the loss's gradient is ", name_of(grad.dtype()), " ", text_of(grad.shape()),
                 ", expected one ", name_of(maximum.dtype()));
  Tensor out = result(logits, logits.shape());
  logits.device().kernels().split_cross_entropy_backward(grad, logits, maximum, sum, labels,
                                                         columns, options, out);
  charge(logits, 14, 2);
  return out;
}

Tensor split_embedding(const Tensor& table, const Tensor& indices, const ColumnSplit& rows) {
  check_float("split_embedding", table);
  check_matrix("split_embedding", table);
  check_indices("split_embedding", table, indices);
  check_split("split_embedding", table.size(0), rows);
  Shape shape = indices.shape();
  shape.push_back(table.size(1));
  Tensor out = result(table, shape);
  const Kernels& kernels = table.device().kernels();
  kernels.check_indices(
      indices, {.operation = "split_embedding", .limit = rows.whole, .outside = &refuse_index});
  kernels.embedding(table.narrow(0, rows.count), indices, rows.first, out);
  charge(out, 0, 2);
  return out;
}

Tensor split_embedding_backward(const Tensor& grad, const Tensor& indices, const ColumnSplit& rows,
                                std::int64_t held) {
  constexpr const char* operation = "split_embedding_backward";
  check_float(operation, grad);
  check_indices(operation, grad, indices);
  check_split(operation, held, rows);
  const std::int64_t columns = rows_of(operation, grad).width;
  LOCKSTEP_CHECK(indices.numel() * columns == grad.numel(), operation, ": ", indices.numel(),
                 " indices for a gradient of shape ", text_of(grad.shape()));
  Tensor out = result(grad, {held, columns});
  if (rows.count < held) out.narrow(rows.count, held - rows.count).fill_(0);
  grad.device().kernels().embedding_backward(grad, indices, rows.first, out.narrow(0, rows.count));
  out.device().charge(0, static_cast<double>(out.bytes()));  // begins at zero
  charge(grad, 1, 2);
  return out;
}

}  // namespace lockstep::ops
