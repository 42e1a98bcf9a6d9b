// One optimizer's state on every rank: after one rank has read a checkpoint, or when a run grows.
// Its counterpart for parameters is replicas/broadcast_parameters.hpp.
#pragma once

#include "engine/comm/process_group.hpp"
#include "engine/optim/optimizer.hpp"

namespace lockstep::horovod {

// Makes every rank's state and learning rate equal to the root's.
//   optimizer  over parameters of the same names on every rank; a distributed one at rest
//   Ensures    state() has the same names and bits everywhere, none if the root has none
//   Comm       the list of names, dtypes and shapes from the root, then one broadcast a tensor
//   Throws     UsageError on a rank whose optimizer has no place for the root's state, such as one
//              of another kind; CommError
//   Source     horovod/torch/functions.py, broadcast_optimizer_state [HVDSRC]. There, a root
//              without state first takes a step with zero gradients to have one
void broadcast_optimizer_state(comm::ProcessGroup& group, optim::Optimizer& optimizer, int root);

}  // namespace lockstep::horovod
