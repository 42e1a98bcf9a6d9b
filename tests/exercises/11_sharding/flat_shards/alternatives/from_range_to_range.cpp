// Walks along the flat tensor, and cuts where a parameter ends or a range is full.
#include "engine/base/error.hpp"
#include "engine/parallel/zero/flat_shards.hpp"

namespace lockstep::zero {

FlatShards flat_shards(std::span<const std::int64_t> numels, int ranks) {
  LOCKSTEP_CHECK(ranks > 0, "no rank");
  FlatShards plan;
  for (const std::int64_t numel : numels) {
    LOCKSTEP_CHECK(numel >= 0, numel, " elements");
    plan.starts.push_back(plan.count);
    plan.count += numel;
  }
  plan.shard = plan.count / ranks + (plan.count % ranks > 0);
  plan.ranks.resize(static_cast<std::size_t>(ranks));
  std::size_t rank = 0;
  std::int64_t filled = 0;
  for (std::size_t p = 0; p < numels.size(); ++p) {
    std::int64_t done = 0;
    while (done < numels[p]) {
      if (filled == plan.shard) ++rank, filled = 0;
      const std::int64_t taken = std::min(numels[p] - done, plan.shard - filled);
      plan.ranks[rank].push_back({p, done, done + taken, filled});
      done += taken;
      filled += taken;
    }
  }
  return plan;
}

}  // namespace lockstep::zero
