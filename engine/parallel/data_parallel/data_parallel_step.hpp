// One step of synchronous data parallelism.
#pragma once

#include "engine/comm/process_group.hpp"
#include "engine/data/dataset.hpp"
#include "engine/nn/module.hpp"
#include "engine/optim/optimizer.hpp"

namespace lockstep::data_parallel {

// Trains the replicas one step: zero, forward, loss, backward, average, clip, step.
// Gradients that exist on entry are ignored.
//   mine       this rank's [B] samples; every rank passes equally many
//   clip_norm  bound on the global norm of the averaged gradient; <= 0 means no clipping
//   Returns    this rank's mean loss over its own samples, before the update
//   Ensures    the replicas stay identical bit for bit, and equal (up to rounding) to one device
//              that receives all ranks' samples as one batch of N·B. A parameter that no rank used
//              keeps its value, and has no gradient afterwards
//   Comm       one reduction of the gradients: 2(N-1)/N · bytes of the parameters per rank
//   Throws     CommError when a peer is lost; no update is made without the mean of all ranks
//   Requires   replicas equal on entry; mean loss; equal B on all ranks
//   Source     [DDP20] §2.2
double data_parallel_step(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer& optimizer,
                          const data::Batch& mine, double clip_norm);

}  // namespace lockstep::data_parallel
