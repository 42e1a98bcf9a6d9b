// Before replicas are trained together: are they one model, and are they equal?
#pragma once

#include "engine/comm/process_group.hpp"
#include "engine/nn/module.hpp"

namespace lockstep::ddp {

// Every rank compares its parameters and buffers (names, dtypes, shapes, and how many) with those
// of rank 0.
//   Comm    a broadcast of the list as text, an all-gather of 8 bytes a rank
//   Throws  ContractError, the same on every rank, naming the first parameter that differs and the
//           first rank on which it does
void check_replicas_agree(comm::ProcessGroup& group, nn::Module& module);

// Replaces all parameters and buffers by rank 0's.
//   Comm    a broadcast each, started one after the other and then waited for
void broadcast_replica(comm::ProcessGroup& group, nn::Module& module);
// The buffers alone.
void broadcast_buffers(comm::ProcessGroup& group, nn::Module& module);

}  // namespace lockstep::ddp
