// Task: split a group. Given the color and the key of every rank, find the group of one of them:
// who is in it, in which order, and which number it has there itself. All ranks compute this on
// their own from the same list, so all members must come to the same order without a word. The
// contract and an example stand in engine/comm/split_groups.hpp.
#include "engine/comm/split_groups.hpp"

#include <algorithm>
#include <tuple>

#include "engine/base/error.hpp"

namespace lockstep::comm {

std::optional<GroupPlan> split_groups(std::span<const ColorKey> of_all_ranks, int rank) {
  const int size = static_cast<int>(of_all_ranks.size());
  LOCKSTEP_CHECK(rank >= 0 && rank < size, "split_groups: rank ", rank, " of ", size,
                 "; ranks count from 0");
  for (const ColorKey& named : of_all_ranks) {
    LOCKSTEP_CHECK(named.color >= no_color, "split_groups: color ", named.color,
                   " is negative; colors count from 0, and no_color (", no_color,
                   ") takes no place");
  }
  // >>> your code
  // All groups at once, sorted by color, key and rank: mine is one stretch of it.
  std::vector<std::tuple<int, int, int>> everybody;
  for (int r = 0; r < size; ++r) {
    const ColorKey& named = of_all_ranks[static_cast<std::size_t>(r)];
    everybody.emplace_back(named.color, named.key, r);
  }
  std::sort(everybody.begin(), everybody.end());
  const int color = of_all_ranks[static_cast<std::size_t>(rank)].color;
  GroupPlan plan;
  for (const auto& [its_color, key, r] : everybody) {
    if (its_color != color || color == no_color) continue;
    if (r == rank) plan.rank = static_cast<int>(plan.members.size());
    plan.members.push_back(r);
  }
  if (plan.members.empty()) return std::nullopt;
  return plan;
  // <<< your code
}

}  // namespace lockstep::comm
