// Queries, keys and values are projected one after the other, each with its rows of the share.
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/parallel/tensor/conjugate_operators.hpp"
#include "engine/parallel/tensor/parallel_attention.hpp"
#include "engine/parallel/tensor/row_parallel_linear.hpp"
#include "engine/parallel/tensor/shares.hpp"

namespace lockstep::tensor_parallel {

std::array<RowRange, 3> qkv_rows(std::int64_t width, std::int64_t heads, int ranks, int rank) {
  LOCKSTEP_CHECK(heads > 0 && width % heads == 0, "heads of no whole size");
  LOCKSTEP_CHECK(rank >= 0 && rank < ranks, "no such rank");
  const std::int64_t count = equal_share("heads", heads, ranks) * width / heads;
  RowRange range{rank * count, count};
  std::array<RowRange, 3> all;
  for (RowRange& one : all) {
    one = range;
    range.first += width;
  }
  return all;
}

Value parallel_attention(Tape& tape, comm::ProcessGroup& group, const Value& x,
                         const AttentionShare& share, std::int64_t heads) {
  const std::int64_t own = equal_share("heads", heads, group.size());
  const std::int64_t rows = share.qkv_bias.tensor.numel() / 3;
  const Value entered = enter_parallel(tape, group, x);
  std::vector<Value> parts;
  for (std::int64_t which = 0; which < 3; ++which) {
    const Value weight = autograd::narrow(tape, share.qkv_weight, 0, which * rows, rows);
    const Value bias = autograd::narrow(tape, share.qkv_bias, 0, which * rows, rows);
    parts.push_back(autograd::linear(tape, entered, weight, bias));
  }
  const Value qkv = autograd::concatenate(tape, parts, 2);
  const Value attended = autograd::causal_attention(tape, qkv, own);
  return row_parallel_linear(tape, group, attended, share.proj_weight, share.proj_bias);
}

}  // namespace lockstep::tensor_parallel
