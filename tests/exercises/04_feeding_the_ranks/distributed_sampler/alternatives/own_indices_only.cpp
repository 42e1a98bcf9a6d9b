// Computes the places of this rank and nothing else.
#include "engine/base/error.hpp"
#include "engine/base/random.hpp"
#include "engine/data/distributed_sampler.hpp"

namespace lockstep::data {

std::vector<std::int64_t> distributed_indices(const SamplerOptions& q) {
  if (q.rank < 0 || q.rank >= q.ranks) throw ContractError("a rank outside the group");
  const std::int64_t extra = q.tail == Tail::pad ? q.ranks - 1 : 0;
  std::vector<std::int64_t> mine(static_cast<std::size_t>((q.length + extra) / q.ranks));
  std::vector<std::int64_t> permutation;
  if (q.order == Order::shuffled) {
    permutation = random_permutation(q.length, q.seed + static_cast<std::uint64_t>(q.epoch));
  }
  std::int64_t place = q.rank;
  for (std::int64_t& index : mine) {
    const std::int64_t i = place % q.length;
    index = permutation.empty() ? i : permutation[static_cast<std::size_t>(i)];
    place += q.ranks;
  }
  return mine;
}

}  // namespace lockstep::data
