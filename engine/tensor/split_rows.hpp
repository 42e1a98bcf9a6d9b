// Cross-entropy of rows whose columns are split: whoever has some columns of every row computes
// three numbers of a row, the holders combine these (the maximum first, since the exponentials are
// taken from it), and each goes on by itself.
//   logits [..., width], of which the first `count` columns are columns first … first + count of
//   rows of `whole` columns; the others are padding, never read. labels [...] int64 in [0, whole).
//   Statistics have the labels' shape, and are float32 of logits that are halves
#pragma once

#include <cstdint>

#include "engine/tensor/softmax.hpp"

namespace lockstep::ops {

struct ColumnSplit {
  std::int64_t first = 0, count = 0, whole = 0;
};

// The largest logit of each row; -∞ of no columns.
Tensor row_maximum(const Tensor& logits, const ColumnSplit& columns);

// Σ e^(logit - maximum) of each row, in the order of softmax; 0 of no columns.
//   maximum  of the whole rows, so that no exponential is above 1
Tensor sum_of_exponentials(const Tensor& logits, const Tensor& maximum, const ColumnSplit& columns);

// The logit at each row's label, 0 where the label's column is not among these, or is ignored.
//   Throws  ContractError on a label outside [0, whole) that is not ignored, and for the mean of
//           none; on a device that is away at the next to_host()
Tensor picked_logits(const Tensor& logits, const Tensor& labels, const ColumnSplit& columns,
                     const CrossEntropyOptions& options = {});

// The loss [1] from what the holders combined: log(sum) + (maximum - picked) of each row whose
// label is not ignored; the terms are added in float64, rows in order.
Tensor split_cross_entropy(const Tensor& maximum, const Tensor& sum, const Tensor& picked,
                           const Tensor& labels, const CrossEntropyOptions& options = {});

// d(loss)/d(logits) · grad, of these columns; 0 in the padding. grad [1] of the loss's dtype.
Tensor split_cross_entropy_backward(const Tensor& grad, const Tensor& logits, const Tensor& maximum,
                                    const Tensor& sum, const Tensor& labels,
                                    const ColumnSplit& columns,
                                    const CrossEntropyOptions& options = {});

// The table's first `count` rows are rows first … first + count of a table of `whole` rows: the
// rows at indices that are among them, zeros for all others.
//   table [rows, C], indices [...] int64 in [0, whole) → [..., C]
//   Throws  ContractError on an index outside [0, whole)
Tensor split_embedding(const Tensor& table, const Tensor& indices, const ColumnSplit& rows);
// d/d(table) [rows, C]; 0 in rows from `count` on
Tensor split_embedding_backward(const Tensor& grad, const Tensor& indices, const ColumnSplit& rows,
                                std::int64_t held);

}  // namespace lockstep::ops
