// How one group becomes several: the split of MPI and NCCL. Every rank passes a color and a key.
// Ranks of one color form a group, ordered by key. The new group of a rank follows from the colors
// and keys of all ranks, so this is a pure function; `ProcessGroup::split` gathers them, calls it,
// and connects the members.
//
//   rank            0  1  2  3  4  5  6
//   color           7  7  2  7  -  2  2      (-: no_color)
//   key             9  0  4  9  0  8  1
//   color 7         members {1, 0, 3}: key 0 first, then the two with key 9 in the order of ranks
//   color 2         members {6, 2, 5}
//   rank 4          is in no group
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace lockstep::comm {

// The color of a rank that takes part in a split, but joins no group.
inline constexpr int no_color = -1;

struct ColorKey {
  int color = no_color;  // no_color, or 0 and above; colors need not be consecutive
  int key = 0;           // any number; only the order matters
};

struct GroupPlan {
  std::vector<int> members;  // ranks of the old group, in the order of the new one
  int rank = 0;              // this rank in the new group: members[rank] is its rank in the old
  bool operator==(const GroupPlan&) const = default;
};

// A part: defined in solutions/02_processes_and_ranks/split_groups.cpp.
//
// The group of rank `rank`, from the colors and keys of all ranks of the old group, by rank.
//   Returns   nullopt for a rank of no_color
//   Ensures   members are the ranks with this rank's color, ordered by key, equal keys by rank; so
//             all members get the same list, and each rank with a color is in exactly one group
//   Throws    ContractError when the rank is outside the old group, or a color below no_color
//   Source    MPI 4.0 §7.4.2 (MPI_Comm_split); ncclCommSplit follows it
std::optional<GroupPlan> split_groups(std::span<const ColorKey> of_all_ranks, int rank);

}  // namespace lockstep::comm
