// Checks what a ring is given, before anything is sent.
#include <cstddef>

#include "engine/base/error.hpp"
#include "engine/parallel/sequence/ring_attention.hpp"

namespace lockstep::sequence_parallel {

void check_ring(const comm::Peers& peers, const Tensor& queries, const Tensor& keys_values,
                std::int64_t heads, std::span<const Positions> of_ranks) {
  const Shape &q = queries.shape(), &kv = keys_values.shape();
  LOCKSTEP_CHECK(
      q.size() == 3 && kv.size() == 3 && q[0] == kv[0] && q[1] == kv[1] && 2 * q[2] == kv[2],
      "ring_attention: queries ", text_of(q), " and keys and values ", text_of(kv),
      "; expected [batch, tokens, width] and [batch, tokens, 2 · width]");
  LOCKSTEP_CHECK(heads >= 1 && q[2] % heads == 0, "ring_attention: ", heads,
                 " heads do not divide the width ", q[2]);
  LOCKSTEP_CHECK(std::ssize(of_ranks) == peers.size(), "ring_attention: positions of ",
                 of_ranks.size(), " ranks in a ring of ", peers.size());
  for (int rank = 0; rank < peers.size(); ++rank) {
    const std::int64_t tokens = of_ranks[static_cast<std::size_t>(rank)].count();
    LOCKSTEP_CHECK(tokens >= 1, "ring_attention: rank ", rank,
                   " has no token; each rank has at least one");
  }
  const std::int64_t own = of_ranks[static_cast<std::size_t>(peers.rank())].count();
  LOCKSTEP_CHECK(own == q[1], "ring_attention: ", q[1], " tokens at ", own, " positions of ",
                 peers.own_name());
}

}  // namespace lockstep::sequence_parallel
