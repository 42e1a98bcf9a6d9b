// Task: causal attention of a sequence that ranks share, by turning some tokens of all heads into
// all tokens of some heads and back. Each turn is an all-to-all, and the turn of a gradient is the
// other one. The contract is in engine/parallel/sequence/ulysses_attention.hpp.
#include "engine/parallel/sequence/ulysses_attention.hpp"

#include <utility>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/parallel/sequence/zigzag_split.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::sequence_parallel {

// >>> your code
namespace {

// Columns are `kinds` blocks (queries, keys and values, or outputs), each head by head.
struct Turn {
  comm::ProcessGroup& group;
  std::int64_t length, kinds;

  TokenRange slice(int rank) const { return contiguous(length, group.size(), rank).early; }
  // Elements of each rank's tokens, of `columns` each.
  std::vector<std::int64_t> by_tokens(std::int64_t columns) const {
    std::vector<std::int64_t> counts;
    for (int rank = 0; rank < group.size(); ++rank) counts.push_back(slice(rank).count * columns);
    return counts;
  }

  // [B, S_r, kinds·C] → [B, S, kinds·C/N]
  Tensor to_heads(const Tensor& x) const {
    const std::int64_t ranks = group.size(), batch = x.size(0), own = x.size(1);
    const std::int64_t columns = x.size(2) / ranks;  // of one rank's heads
    Tensor by_rank = x.view({batch * own, kinds, ranks, columns / kinds});
    if (kinds > 1) by_rank = ops::transpose(by_rank, 1, 2);
    by_rank = ops::transpose(by_rank.view({batch * own, ranks, columns}), 0, 1);
    const std::vector<std::int64_t> out(by_tokens(batch * columns));
    const std::vector<std::int64_t> in(static_cast<std::size_t>(ranks), batch * own * columns);
    const Tensor came =
        empty({batch * length * columns}, x.dtype(), x.device(), MemoryKind::activations);
    group.all_to_all(by_rank, came, in, out);
    if (batch == 1) return came.view({1, length, columns});
    std::vector<Tensor> slices;
    for (int rank = 0; rank < group.size(); ++rank) {
      const auto [first, count] = slice(rank);
      slices.push_back(came.narrow(first * batch * columns, count * batch * columns)
                           .view({batch, count, columns}));
    }
    return ops::concatenate(slices, 1);
  }

  // The way back.
  Tensor to_tokens(const Tensor& x) const {
    const std::int64_t ranks = group.size(), batch = x.size(0), columns = x.size(2);
    const std::int64_t own = slice(group.rank()).count;
    Tensor by_rank = x;
    if (batch > 1) {
      std::vector<Tensor> slices;
      for (int rank = 0; rank < group.size(); ++rank) {
        const auto [first, count] = slice(rank);
        slices.push_back(ops::narrow(x, 1, first, count).view({-1}));
      }
      by_rank = ops::concatenate(slices, 0);
    }
    const std::vector<std::int64_t> in(by_tokens(batch * columns));
    const std::vector<std::int64_t> out(static_cast<std::size_t>(ranks), batch * own * columns);
    const Tensor came =
        empty({ranks, batch * own, columns}, x.dtype(), x.device(), MemoryKind::activations);
    group.all_to_all(by_rank, came, in, out);
    Tensor by_token = ops::transpose(came, 0, 1);
    if (kinds > 1) {
      by_token = ops::transpose(by_token.view({batch * own, ranks, kinds, columns / kinds}), 1, 2);
    }
    return by_token.view({batch, own, ranks * columns});
  }
};

}  // namespace
// <<< your code

Value ulysses_attention(Tape& tape, comm::ProcessGroup& group, const Value& qkv, std::int64_t heads,
                        std::int64_t length) {
  check_ulysses(group, qkv.tensor, heads, length);
  // >>> your code
  const Turn packed{group, length, 3}, mixed{group, length, 1};
  const Value of_heads = tape.record(
      packed.to_heads(qkv.tensor), {qkv},
      [packed](const Tensor& grad) { return std::vector<Tensor>{packed.to_tokens(grad)}; });
  const Value output = autograd::causal_attention(tape, of_heads, heads / group.size());
  return tape.record(mixed.to_tokens(output.tensor), {output}, [mixed](const Tensor& grad) {
    return std::vector<Tensor>{mixed.to_heads(grad)};
  });
  // <<< your code
}

}  // namespace lockstep::sequence_parallel
