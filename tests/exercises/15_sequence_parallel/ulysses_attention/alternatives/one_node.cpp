// One operation on the tape, which keeps the rank's heads for its way back. Elements are moved one
// by one, on the host.
#include <cstring>
#include <utility>
#include <vector>

#include "engine/parallel/sequence/ulysses_attention.hpp"
#include "engine/parallel/sequence/zigzag_split.hpp"
#include "engine/tensor/attention.hpp"

namespace lockstep::sequence_parallel {
namespace {

enum class Turn { to_heads, to_tokens };

// Of [B, tokens, kinds·C] on the side of tokens and [B, S, kinds·C/N] on the side of heads.
Tensor moved(Turn turn, comm::ProcessGroup& group, const Tensor& x, std::int64_t length,
             std::int64_t kinds) {
  const std::int64_t n = group.size(), batch = x.size(0);
  const std::int64_t columns = turn == Turn::to_heads ? x.size(2) / kinds : x.size(2) / kinds * n;
  const std::int64_t own = columns / n;
  const TokenRange mine = contiguous(length, group.size(), group.rank()).early;
  const std::size_t bytes = static_cast<std::size_t>(own) * bytes_of(x.dtype());
  // Runs of `own` elements, in the order in which they travel: by rank, sample, token, kind.
  struct Run {
    std::int64_t by_tokens, by_heads;  // places on both sides
  };
  std::vector<Run> sent, received;
  std::vector<std::int64_t> sent_counts, received_counts;
  for (int rank = 0; rank < group.size(); ++rank) {
    const TokenRange theirs = contiguous(length, group.size(), rank).early;
    std::vector<Run>& with_my_tokens = turn == Turn::to_heads ? sent : received;
    std::vector<Run>& with_my_heads = turn == Turn::to_heads ? received : sent;
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t t = 0; t < mine.count; ++t) {
        for (std::int64_t k = 0; k < kinds; ++k) {
          with_my_tokens.push_back({((b * mine.count + t) * kinds + k) * n + rank, 0});
        }
      }
      for (std::int64_t t = theirs.first; t < theirs.end(); ++t) {
        for (std::int64_t k = 0; k < kinds; ++k) {
          with_my_heads.push_back({0, (b * length + t) * kinds + k});
        }
      }
    }
    const std::int64_t of_mine = batch * mine.count * kinds * own,
                       of_theirs = batch * theirs.count * kinds * own;
    sent_counts.push_back(turn == Turn::to_heads ? of_mine : of_theirs);
    received_counts.push_back(turn == Turn::to_heads ? of_theirs : of_mine);
  }
  const auto place = [&](const Run& run, bool of_source) {
    const bool tokens = of_source == (turn == Turn::to_heads);
    return static_cast<std::size_t>(tokens ? run.by_tokens : run.by_heads) * bytes;
  };
  const Tensor in = x.empty_like(x.numel());
  std::byte* to = in.raw_bytes().data();
  for (const Run& run : sent) {
    std::memcpy(to, x.raw_bytes().data() + place(run, true), bytes);
    to += bytes;
  }
  const Tensor out = x.empty_like(static_cast<std::int64_t>(received.size()) * own);
  group.all_to_all(in, out, sent_counts, received_counts);
  const Tensor made = turn == Turn::to_heads
                          ? empty({batch, length, kinds * own}, x.dtype(), x.device())
                          : empty({batch, mine.count, kinds * columns}, x.dtype(), x.device());
  const std::byte* from = out.raw_bytes().data();
  for (const Run& run : received) {
    std::memcpy(made.raw_bytes().data() + place(run, false), from, bytes);
    from += bytes;
  }
  return made;
}

}  // namespace

Value ulysses_attention(Tape& tape, comm::ProcessGroup& group, const Value& qkv, std::int64_t heads,
                        std::int64_t length) {
  check_ulysses(group, qkv.tensor, heads, length);
  const std::int64_t own_heads = heads / group.size();
  const Tensor mine = moved(Turn::to_heads, group, qkv.tensor, length, 3);
  const ops::Attention attended = ops::causal_attention(mine, own_heads);
  return tape.record(
      moved(Turn::to_tokens, group, attended.output, length, 1), {qkv},
      [&group, mine, attended, own_heads, length](const Tensor& grad) {
        const Tensor to_output = moved(Turn::to_heads, group, grad, length, 1);
        const Tensor to_mine = ops::causal_attention_backward(to_output, mine, attended, own_heads);
        return std::vector<Tensor>{moved(Turn::to_tokens, group, to_mine, length, 3)};
      });
}

}  // namespace lockstep::sequence_parallel
