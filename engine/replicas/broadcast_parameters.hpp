// Replicas begin as one model.
#pragma once

#include "engine/comm/process_group.hpp"
#include "engine/nn/module.hpp"

namespace lockstep::replicas {

// Makes every replica equal to the source's: parameters and buffers, of every element type.
//   model      the same architecture on every rank; its numbers may differ
//   source     rank of the group whose numbers all will have
//   Ensures    values are the source's bit for bit, in the tensors that were there: whoever holds a
//              handle to one sees them. Gradients and optimizer state are as before.
//   Comm       one broadcast a tensor, or one a flat copy of those of one type: each rank but the
//              source receives the bytes of the model once, (N-1) times these together; no rank
//              sends more than ⌈log₂N⌉ times these
//   Throws     CommError when a peer is lost
//   Source     [DDP20] §2.2: DistributedDataParallel does it once, when it wraps the model
void broadcast_parameters(comm::ProcessGroup& group, nn::Module& model, int source);

}  // namespace lockstep::replicas
