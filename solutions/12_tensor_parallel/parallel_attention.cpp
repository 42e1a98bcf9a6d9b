// Task: spread attention over a tensor-parallel group by heads. Which rows of the fused projection
// a rank holds is the first function; the second computes with them, and leaves by one sum. The
// contract is in engine/parallel/tensor/parallel_attention.hpp.
#include "engine/parallel/tensor/parallel_attention.hpp"

#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/parallel/tensor/column_parallel_linear.hpp"
#include "engine/parallel/tensor/row_parallel_linear.hpp"
#include "engine/parallel/tensor/shares.hpp"

namespace lockstep::tensor_parallel {

std::array<RowRange, 3> qkv_rows(std::int64_t width, std::int64_t heads, int ranks, int rank) {
  LOCKSTEP_CHECK(heads >= 1 && width % heads == 0, "qkv_rows: ", heads,
                 " heads do not divide the width ", width);
  LOCKSTEP_CHECK(rank >= 0 && rank < ranks, "qkv_rows: rank ", rank, " of ", ranks,
                 "; ranks count from 0");
  // >>> your code
  const std::int64_t count = equal_share("heads", heads, ranks) * (width / heads);
  const std::int64_t first = rank * count;
  return {{{first, count}, {width + first, count}, {2 * width + first, count}}};
  // <<< your code
}

Value parallel_attention(Tape& tape, comm::ProcessGroup& group, const Value& x,
                         const AttentionShare& share, std::int64_t heads) {
  // >>> your code
  const std::int64_t own_heads = equal_share("heads", heads, group.size());
  const Value qkv =
      column_parallel_linear(tape, group, x, share.qkv_weight, share.qkv_bias, ColumnOutput::share);
  const Value attended = autograd::causal_attention(tape, qkv, own_heads);
  return row_parallel_linear(tape, group, attended, share.proj_weight, share.proj_bias);
  // <<< your code
}

}  // namespace lockstep::tensor_parallel
