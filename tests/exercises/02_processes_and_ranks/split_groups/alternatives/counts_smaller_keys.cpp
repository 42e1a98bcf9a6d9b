// Task: split a group. Given the color and the key of every rank, find the group of one of them:
// who is in it, in which order, and which number it has there itself. All ranks compute this on
// their own from the same list, so all members must come to the same order without a word. The
// contract and an example stand in engine/comm/split_groups.hpp.
#include "engine/comm/split_groups.hpp"

#include <algorithm>

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
  const ColorKey mine = of_all_ranks[static_cast<std::size_t>(rank)];
  if (mine.color == no_color) return {};
  // The place of each member is the number of members before it.
  const auto place_of = [&](int r) {
    const ColorKey& its = of_all_ranks[static_cast<std::size_t>(r)];
    std::size_t before = 0;
    for (int other = 0; other < size; ++other) {
      const ColorKey& there = of_all_ranks[static_cast<std::size_t>(other)];
      if (there.color != mine.color) continue;
      if (there.key < its.key || (there.key == its.key && other < r)) ++before;
    }
    return before;
  };
  GroupPlan plan;
  plan.members.resize(static_cast<std::size_t>(std::ranges::count(
      of_all_ranks, mine.color, [](const ColorKey& named) { return named.color; })));
  for (int r = 0; r < size; ++r) {
    if (of_all_ranks[static_cast<std::size_t>(r)].color == mine.color) {
      plan.members[place_of(r)] = r;
    }
  }
  plan.rank = static_cast<int>(place_of(rank));
  return plan;
  // <<< your code
}

}  // namespace lockstep::comm
