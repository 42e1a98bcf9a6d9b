// Gradient accumulation: one optimizer step on a batch that is too large for the memory of a rank.
// The batch comes in k micro-batches. Their gradients add up on each rank, and only the sum
// travels.
#pragma once

#include <span>

#include "engine/data/dataset.hpp"
#include "engine/optim/optimizer.hpp"
#include "engine/parallel/ddp/ddp.hpp"

namespace lockstep::ddp {

// Trains the replicas one step: zero, k times forward and backward, one reduction, one update.
// Gradients that exist on entry are zeroed first.
//   micro_batches  this rank's, k of them, in the order in which they pass through the model, each
//                  by itself. k may differ from step to step: the last step of an epoch is shorter
//   Ensures   the replicas stay identical bit for bit, and equal (up to rounding) to one device
//             that takes one step on the mean loss over all labels of all ranks' micro-batches.
//             So a micro-batch counts by its share of this rank's labels, not by 1/k
//   Memory    activations of one micro-batch: its backward ends before the next forward begins
//   Reports   before each backward, its share of the step's loss, by model.report
//   Comm      one reduced pass of DDP: 2(N-1)/N · bytes of the gradients per rank, whatever k is
//   Requires  k >= 1; at least one label in each micro-batch; the same k and the same numbers of
//             labels on every rank
//   Throws    as Ddp; then no update is made
//   Source    [DDP20] §3.2.4; PyTorch's DistributedDataParallel.no_sync
void accumulate_step(Ddp& model, optim::Optimizer& optimizer,
                     std::span<const data::Batch> micro_batches);

}  // namespace lockstep::ddp
