// Replicas begin as one model.
#pragma once

#include "engine/comm/process_group.hpp"
#include "engine/nn/module.hpp"

namespace lockstep::replicas {

// Makes every replica equal to the source's: parameters and buffers, of every element type.
//   model      the same architecture on every rank; its numbers may differ
//   source     rank of the group whose numbers all ranks get
//   Ensures    values are the source's bit for bit, in the existing tensors: every holder of a
//              handle sees them. Gradients and optimizer state are as before.
//   Comm       one broadcast per tensor, or one per element type over flat copies: each rank but
//              the source receives the model's bytes once, (N-1) times that in all; no rank sends
//              more than ⌈log₂N⌉ times that
//   Throws     CommError when a peer is lost
//   Source     [DDP20] §2.2: DistributedDataParallel does this once, when it wraps the model
void broadcast_parameters(comm::ProcessGroup& group, nn::Module& model, int source);

}  // namespace lockstep::replicas
