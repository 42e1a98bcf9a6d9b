// Saves what the trainers of a run hold: whole on the rank that reports, which writes alone, or
// where it is, each rank a share. Both are the same kind of checkpoint, and any number of ranks in
// any layout goes on from either.
#pragma once

#include <string_view>
#include <vector>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/train/held.hpp"
#include "engine/train/strategy.hpp"

namespace lockstep::train {

enum class SaveForm : std::uint8_t { dense, sharded };

// Boxes of one of a rank's pieces, which this rank writes.
struct Share {
  std::size_t place = 0;  // of the piece, in the rank's list
  Boxes boxes;
  bool operator==(const Share&) const = default;
};

// Deals the elements of all tensors to ranks that hold them, each element to one.
//   held     of all ranks, as gather_held gives it
//   Returns  of each rank what it writes, in the order of its list
//   Ensures  what several ranks hold is cut along its first axes into shares of 64 KiB at least,
//            and each goes to the holder that has least to write so far
//   Throws   Error when nobody holds a part of a tensor
std::vector<std::vector<Share>> plan_shares(const std::vector<Held>& held, int ranks);

// Saves the checkpoint of state.step. Called by all trainers.
//   optimizer  the optimizer's kind
//   storage    sharded: each rank's own way to one storage; dense: the reporter's is used
//   Comm       dense: as gather_whole. sharded: two all-gathers of lists of pieces and two of what
//              each has written, as text, and 16 bytes a rank in between; no element travels.
//              Where replicas must be equal, as compare
//   Throws     CheckpointError, on every rank when sharded, with the rank whose storage refused;
//              older checkpoints are then as they were. Error, sharded, when replicas differ
void save(Strategy& strategy, SaveForm form, std::string_view optimizer,
          checkpoint::Storage& storage, const checkpoint::TrainState& state,
          const checkpoint::SaveOptions& options);

}  // namespace lockstep::train
