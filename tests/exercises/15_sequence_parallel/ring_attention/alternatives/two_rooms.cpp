// Two rooms take turns, made when they are needed first: the own block is gone by the time of the
// second one. Blocks lie in them as flat tensors, as long as the longest.
#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/parallel/sequence/absorb.hpp"
#include "engine/parallel/sequence/ring_attention.hpp"

namespace lockstep::sequence_parallel {
namespace {

struct Rooms {
  std::int64_t batch, width, longest;
  std::array<Tensor, 2> flat{};

  Tensor block(int step, const Tensor& like, std::int64_t tokens) {
    Tensor& room = flat[static_cast<std::size_t>(step % 2)];
    if (!room.defined()) room = like.empty_like(batch * longest * width);
    return room.narrow(0, batch * tokens * width).view({batch, tokens, width});
  }
};

}  // namespace

ops::Attention ring_attention(comm::Peers& peers, const Tensor& queries, Tensor keys_values,
                              std::int64_t heads, std::span<const Positions> of_ranks) {
  check_ring(peers, queries, keys_values, heads, of_ranks);
  std::int64_t longest = 0;
  for (const Positions& slice : of_ranks) longest = std::max(longest, slice.count());
  Rooms rooms{keys_values.size(0), keys_values.size(2), longest};
  const int n = peers.size(), me = peers.rank();
  const Positions& mine = of_ranks[static_cast<std::size_t>(me)];
  Tensor here = std::move(keys_values);
  ops::Attention result;
  int owner = me;
  for (int left_to_send = n - 1;; --left_to_send) {
    const Positions& theirs = of_ranks[static_cast<std::size_t>(owner)];
    const int next_owner = owner == 0 ? n - 1 : owner - 1;
    Tensor coming;
    comm::Work sent, came;
    if (left_to_send > 0) {
      coming =
          rooms.block(left_to_send, here, of_ranks[static_cast<std::size_t>(next_owner)].count());
      sent = peers.isend(here, me + 1 == n ? 0 : me + 1);
      came = peers.irecv(coming, me == 0 ? n - 1 : me - 1);
    }
    const bool first = !result.output.defined();
    const std::int64_t last = mine.of(mine.count() - 1);
    if (first || theirs.of(0) <= last) {
      ops::Attention of_block = ops::attention(queries, here, {heads, mine, theirs});
      if (first) {
        result = std::move(of_block);
      } else {
        absorb(result, of_block);
      }
    }
    if (left_to_send == 0) return result;
    sent.wait();
    came.wait();
    here = coming;
    owner = next_owner;
  }
}

}  // namespace lockstep::sequence_parallel
