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
  // Avoids warnings about parameters that are not used yet.
  (void)peers, (void)queries, (void)keys_values, (void)heads, (void)of_ranks;
  throw NotImplemented("ring_attention");
  // <<< your code
}

}  // namespace lockstep::sequence_parallel
