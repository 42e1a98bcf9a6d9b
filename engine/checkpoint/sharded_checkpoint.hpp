// A checkpoint that many ranks write, a share each, and that any number of ranks reads. Nobody ever
// has all of it. Ranks cannot rename together, so what they wrote counts by one rename: that of the
// index, which says which box of which tensor lies where. What no index names is not there, however
// many files lie beside it.
//
//   begin    one rank makes the folder, and tells the others its name
//   write    every rank writes its share, and tells what it wrote
//   commit   one rank puts these lists together, and writes the index
//
// Source: PyTorch's torch.distributed.checkpoint saves in these steps (plan, write, finish)
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/reshard_plan.hpp"
#include "engine/comm/process_group.hpp"

namespace lockstep::checkpoint {

// Saves the checkpoint of state.step. Called by every rank. A part: defined in
// solutions/17_fault_tolerance, as is read_boxes.
//   committer  the rank that begins and commits
//   storage    each rank's own way to one storage
//   share      what this rank writes; no other rank writes an element of it, and all ranks together
//              write every element. A rank may have nothing to write
//   state      the same on every rank, as options
//   Ensures    each rank writes what its share has, and nothing else but the committer, which also
//              writes the index. It does so when every share is on the disk. No rank returns before
//              that
//   Comm       texts (agree.hpp): the name of the folder, what each rank wrote, and that it was
//              committed. No element travels
//   Throws     CheckpointError on every rank when one of them fails, with the name of that rank:
//              older checkpoints are then as they were, and nothing half written is left. CommError
//              when a peer is lost
void save_sharded(comm::ProcessGroup& group, int committer, Storage& storage, const Contents& share,
                  const TrainState& state, const SaveOptions& options);

// Reads consecutive elements of one saved box.
//   from  its source is the number of the box
using ReadStretch = std::function<void(const Stretch& from, std::span<std::byte> into)>;

// Reads the elements of `wanted` from the boxes of a saved tensor.
//   saved          the boxes in which it lies, each a source of its own
//   element_bytes  of an element
//   read           reads from the storage, and verifies what it read
//   into           as many bytes as the elements of `wanted` have, which lie there one box after
//                  the other, each row-major
//   Ensures        each element is read once, and none that is not wanted. Boxes are read one after
//                  the other, each from its front to its back: `read` keeps a block of the box at
//                  hand, and so reads each block once
//   Throws         CheckpointError when no box has a wanted element, and what `read` throws
void read_boxes(const std::vector<Box>& saved, const Boxes& wanted, std::size_t element_bytes,
                const ReadStretch& read, std::span<std::byte> into);

}  // namespace lockstep::checkpoint
