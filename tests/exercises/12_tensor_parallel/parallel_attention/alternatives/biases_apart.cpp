// The products are those of the parallel layers, and biases are added apart from them. Rows are
// found head by head.
#include <optional>

#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/parallel/tensor/column_parallel_linear.hpp"
#include "engine/parallel/tensor/parallel_attention.hpp"
#include "engine/parallel/tensor/row_parallel_linear.hpp"
#include "engine/parallel/tensor/shares.hpp"

namespace lockstep::tensor_parallel {

std::array<RowRange, 3> qkv_rows(std::int64_t width, std::int64_t heads, int ranks, int rank) {
  LOCKSTEP_CHECK(heads > 0 && width % heads == 0, "heads of no whole size");
  LOCKSTEP_CHECK(rank >= 0 && rank < ranks, "no such rank");
  const std::int64_t own = equal_share("heads", heads, ranks);
  std::array<RowRange, 3> all;
  for (std::int64_t head = rank * own; head < (rank + 1) * own; ++head) {
    std::int64_t first = head * (width / heads);
    for (RowRange& range : all) {
      if (range.count == 0) range.first = first;
      range.count += width / heads;
      first += width;
    }
  }
  return all;
}

Value parallel_attention(Tape& tape, comm::ProcessGroup& group, const Value& x,
                         const AttentionShare& share, std::int64_t heads) {
  const std::int64_t own = equal_share("heads", heads, group.size());
  const Value product =
      column_parallel_linear(tape, group, x, share.qkv_weight, std::nullopt, ColumnOutput::share);
  const Value qkv = autograd::add(tape, product, share.qkv_bias);
  const Value attended = autograd::causal_attention(tape, qkv, own);
  const Value sum = row_parallel_linear(tape, group, attended, share.proj_weight, std::nullopt);
  return autograd::add(tape, sum, share.proj_bias);
}

}  // namespace lockstep::tensor_parallel
