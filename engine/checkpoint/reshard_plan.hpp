// The plan by which a tensor that N ranks have saved is loaded by M. Both sides say in boxes
// who has what, and the plan is their intersection: a pure function of two lists.
//
//   saved by 3, flat shards of [8]     [0, 3) [3, 6) [6, 8)
//   wanted by 2                        [0, 4) [4, 8)
//   rank 0 reads                       all of source 0, then 1 element of source 1
//   rank 1 reads                       2 elements of source 1 from the second on, all of source 2
//
// A shard may lie in memory or in a file with padding after its elements. It belongs to no box, so
// no plan reads it.
// Source: PyTorch's torch.distributed.checkpoint intersects boxes of two dimensions and more so
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tensor/box.hpp"

namespace lockstep::checkpoint {

// The cut of one tensor: the boxes of each source or rank, whose elements lie one box after the
// other.
using ShardPlan = std::vector<Boxes>;

// Consecutive elements of one source.
struct Stretch {
  int source = 0;
  std::int64_t offset = 0;  // of the first, among the source's elements
  std::int64_t length = 0;
  bool operator==(const Stretch&) const = default;
};

// Decides what rank `rank` of the new run reads. A part: defined in
// solutions/17_fault_tolerance.
//   saved    who wrote what; sources may hold the same element, and a source may have no box
//   wanted   what each rank of the new run is to hold, on as many ranks as it likes
//   Returns  what is read, one after the other in the order in which the rank holds its elements
//   Ensures  each element that the rank holds is read once, from the first source that has it, and
//            no other is; stretches that follow each other in one source are one
//   Time     of the rows that boxes have in common, not of their elements, which may be billions
//   Throws   CheckpointError when no source has an element that the rank holds; ContractError when
//            there is no such rank
std::vector<Stretch> reshard(const ShardPlan& saved, const ShardPlan& wanted, int rank);

}  // namespace lockstep::checkpoint
