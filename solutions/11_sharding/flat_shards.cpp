// Task: decide which rank owns which elements of which parameters. The parameters are laid end to
// end into one flat tensor, which is cut into ranges of equal size, one for each rank. The contract
// is in engine/parallel/zero/flat_shards.hpp.
#include "engine/parallel/zero/flat_shards.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace lockstep::zero {

FlatShards flat_shards(std::span<const std::int64_t> numels, int ranks) {
  LOCKSTEP_CHECK(ranks >= 1, "flat_shards: ", ranks, " ranks; at least one owns something");
  for (const std::int64_t numel : numels) {
    LOCKSTEP_CHECK(numel >= 0, "flat_shards: a parameter of ", numel, " elements");
  }
  // >>> your code
  FlatShards plan;
  for (const std::int64_t numel : numels) {
    plan.starts.push_back(plan.count);
    plan.count += numel;
  }
  plan.shard = (plan.count + ranks - 1) / ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t first = rank * plan.shard, last = first + plan.shard;
    std::vector<ShardPiece>& mine = plan.ranks.emplace_back();
    for (std::size_t p = 0; p < numels.size(); ++p) {
      const std::int64_t start = plan.starts[p];
      const std::int64_t begin = std::max(start, first), end = std::min(start + numels[p], last);
      if (begin < end) mine.push_back({p, begin - start, end - start, begin - first});
    }
  }
  return plan;
  // <<< your code
}

}  // namespace lockstep::zero
