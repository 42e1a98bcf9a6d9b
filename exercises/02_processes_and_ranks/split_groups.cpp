// Task: split a group. From the color and the key of every rank, find the group of one rank: its
// members, their order, and the rank's own number in it. Each rank computes this alone from the
// same list, so all members must find the same order without a message. The contract and an example
// stand in engine/comm/split_groups.hpp.
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
  // Avoids warnings about parameters that are not used yet.
  (void)of_all_ranks, (void)rank;
  throw NotImplemented("split_groups");
  // <<< your code
}

}  // namespace lockstep::comm
