// The ranks of a run as points of a mesh: a place on each axis, and for each axis the groups that
// communicate along it. Two ranks are in one group of an axis if they differ on that axis alone.
//
// 16 ranks with tp 2, dp 2 and pp 4, in the usual order: rank = tp + 2·dp + 4·pp
//
//   rank   0  1  2  3 | 4  5  6  7 | 8  9 10 11 | 12 13 14 15
//   tp     0  1  0  1 | 0  1  0  1 | 0  1  0  1 |  0  1  0  1     groups {0,1} {2,3} {4,5} …
//   dp     0  0  1  1 | 0  0  1  1 | 0  0  1  1 |  0  0  1  1     groups {0,2} {1,3} {4,6} …
//   pp     0  0  0  0 | 1  1  1  1 | 2  2  2  2 |  3  3  3  3     groups {0,4,8,12} {1,5,9,13} …
//
// The order decides what is near: ranks of a node are numbered one after the other, so the fastest
// axes stay inside a node. The plan knows no nodes; whoever orders the axes does.
// Source: [MEGATRON] parallel_state.py has this order; [NSC21] §3 says how to choose the sizes
#pragma once

#include <array>
#include <vector>

#include "engine/parallel/mesh/axes.hpp"

namespace lockstep::mesh {

using Groups = std::vector<std::vector<int>>;

struct Mesh {
  AxisSizes sizes;
  std::vector<Coordinates> coordinates;  // of each rank
  std::array<Groups, 5> groups;          // of each axis, by its number: groups[Axis::tp] is of tp

  const Groups& along(Axis axis) const { return groups[static_cast<std::size_t>(axis)]; }
  bool operator==(const Mesh&) const = default;
};

// Lays out the ranks of a world.
//   world    N
//   sizes    of each axis, 1 and above; their product is N
//   order    from the fastest axis to the slowest: along the first, ranks are neighbours
//   Returns  a place for each rank, and the groups of each axis
//   Ensures  no two ranks have one place. On each axis every rank is in exactly one group; a group
//            lists its ranks by their place on the axis, and an axis its groups by their first
//            rank. An axis of size 1 has N groups of one rank
//   Time     O(N), a few passes for each axis
//   Throws   ContractError when the product is not N, a size is below 1, or the order names an axis
//            twice
Mesh make_mesh(int world, const AxisSizes& sizes, const AxisOrder& order);

}  // namespace lockstep::mesh
