// Task: causal attention of a sequence that ranks share. Queries stay, and keys and values go round
// a ring: while a rank computes with a block, it sends that block to the right and receives the
// next one from the left. absorb() merges the results of two blocks. The backward pass is given.
// The contract is in engine/parallel/sequence/ring_attention.hpp.
#include "engine/parallel/sequence/ring_attention.hpp"

#include <cstddef>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/parallel/sequence/absorb.hpp"

namespace lockstep::sequence_parallel {

ops::Attention ring_attention(comm::Peers& peers, const Tensor& queries, Tensor keys_values,
                              std::int64_t heads, std::span<const Positions> of_ranks) {
  check_ring(peers, queries, keys_values, heads, of_ranks);
  // >>> your code
  const int ranks = peers.size(), rank = peers.rank();
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  const auto positions = [&](int owner) { return of_ranks[static_cast<std::size_t>(owner)]; };

  ops::Attention all;
  Tensor block = std::move(keys_values);
  for (int step = 0; step < ranks; ++step) {
    const int owner = (rank + ranks - step) % ranks;
    Tensor next;
    comm::Work sending, receiving;
    if (step + 1 < ranks) {
      const int next_owner = (owner + ranks - 1) % ranks;
      next = empty({block.size(0), positions(next_owner).count(), block.size(2)}, block.dtype(),
                   block.device());
      receiving = peers.irecv(next, left);
      sending = peers.isend(block, right);
    }
    const ops::AttentionOptions options{heads, positions(rank), positions(owner)};
    if (step == 0) {
      all = ops::attention(queries, block, options);
    } else if (pairs_seen(options.queries, options.keys) > 0) {
      absorb(all, ops::attention(queries, block, options));
    }
    receiving.wait();
    sending.wait();
    block = std::move(next);
  }
  return all;
  // <<< your code
}

}  // namespace lockstep::sequence_parallel
