// Wrong on purpose: each slice counts its tokens from 0, so a query sees the keys of any other
// slice up to its own place.
#include <cstddef>
#include <utility>

#include "engine/parallel/sequence/absorb.hpp"
#include "engine/parallel/sequence/ring_attention.hpp"

namespace lockstep::sequence_parallel {

ops::Attention ring_attention(comm::Peers& peers, const Tensor& queries, Tensor keys_values,
                              std::int64_t heads, std::span<const Positions> of_ranks) {
  const int ranks = peers.size(), rank = peers.rank();
  const auto tokens = [&](int of) { return of_ranks[static_cast<std::size_t>(of)].count(); };
  ops::Attention all;
  Tensor block = std::move(keys_values);
  for (int step = 0; step < ranks; ++step) {
    const int owner = (rank + ranks - step) % ranks, left = (rank + ranks - 1) % ranks;
    Tensor next;
    comm::Work sending, receiving;
    if (step + 1 < ranks) {
      next = empty({block.size(0), tokens((owner + ranks - 1) % ranks), block.size(2)},
                   block.dtype(), block.device());
      receiving = peers.irecv(next, left);
      sending = peers.isend(block, (rank + 1) % ranks);
    }
    const ops::AttentionOptions local{heads, {{0, tokens(rank)}}, {{0, tokens(owner)}}};
    const ops::Attention part = ops::attention(queries, block, local);
    if (step == 0) {
      all = part;
    } else {
      absorb(all, part);
    }
    receiving.wait();
    sending.wait();
    block = std::move(next);
  }
  return all;
}

}  // namespace lockstep::sequence_parallel
