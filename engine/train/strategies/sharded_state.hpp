// The optimizer's state of which a rank keeps ranges: as pieces of a checkpoint, and back.
#pragma once

#include <vector>

#include "engine/checkpoint/saved_run.hpp"
#include "engine/parallel/zero/sharded_units.hpp"
#include "engine/train/pieces.hpp"

namespace lockstep::train {

using OwnedParts = std::vector<zero::ShardedUnits::Owned*>;

// The part of the parameter that is owned: a range of the flat tensor.
Boxes boxes_of(const zero::ShardedUnits::Owned& owned);

// Appends the state of an optimizer over `owned`, as views.
void add_state(std::vector<Piece>& pieces, const optim::Optimizer& optimizer,
               const OwnedParts& owned);

// Reads this rank's ranges of the saved state, and no others.
//   Throws  CheckpointError when it is of another optimizer or model
void restore_state(const checkpoint::SavedRun& saved, optim::Optimizer& optimizer,
                   const OwnedParts& owned, Device& device);

}  // namespace lockstep::train
