// All places at which something is cut, sorted; a piece lies between two of them.
#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/parallel/zero/flat_shards.hpp"

namespace lockstep::zero {

FlatShards flat_shards(std::span<const std::int64_t> numels, int ranks) {
  if (ranks < 1) throw ContractError("a range needs a rank");
  FlatShards plan;
  for (const std::int64_t numel : numels) {
    if (numel < 0) throw ContractError("less than nothing");
    plan.starts.push_back(plan.count);
    plan.count += numel;
  }
  plan.ranks.assign(static_cast<std::size_t>(ranks), {});
  if (plan.count == 0) return plan;
  plan.shard = 1 + (plan.count - 1) / ranks;
  std::vector<std::int64_t> cuts = plan.starts;
  for (std::int64_t cut = 0; cut < plan.count; cut += plan.shard) cuts.push_back(cut);
  cuts.push_back(plan.count);
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    const auto next = std::ranges::upper_bound(plan.starts, cuts[k]);  // skips empty parameters
    const auto p = static_cast<std::size_t>(next - plan.starts.begin()) - 1;
    const std::int64_t begin = cuts[k] - plan.starts[p];
    plan.ranks[static_cast<std::size_t>(cuts[k] / plan.shard)].push_back(
        {p, begin, begin + cuts[k + 1] - cuts[k], cuts[k] % plan.shard});
  }
  return plan;
}

}  // namespace lockstep::zero
