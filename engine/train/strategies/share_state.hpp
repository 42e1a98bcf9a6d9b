// The optimizer's state of one rank, for ranks whose own has missed updates.
#pragma once

#include "engine/comm/process_group.hpp"
#include "engine/optim/optimizer.hpp"

namespace lockstep::train {

// Makes the state of every rank's optimizer that of rank `source`, bit for bit.
//   optimizer  over the same parameters on every rank; a rank's state may lack entries, or have
//              others than the source's
//   Comm       two broadcasts for the list of entries, and one for each entry
//   Throws     CommError when a peer is lost
void share_state(comm::ProcessGroup& group, optim::Optimizer& optimizer, int source);

}  // namespace lockstep::train
