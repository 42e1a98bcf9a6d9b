// Horovod's way: the optimizer is wrapped, and a background strand reduces each gradient once all
// ranks have it, in whatever order they come.
#pragma once

#include "engine/parallel/horovod/distributed_optimizer.hpp"
#include "engine/train/strategies/whole_model.hpp"

namespace lockstep::train {

// Takes any number of batches a step; their gradients add up on each rank and are reduced once.
//   options  backward_passes_per_step is set here, to the number of batches of each step
//   watch    given: is told the hook that sums groups of gradients
//   Ensures  replicas are rank 0's; restore() reads the checkpoint on rank 0 only, and broadcasts
//            parameters and optimizer state
//   Comm     replicas::make_equal; a step: as ReductionQueue, and an all-reduce of one number, the
//            loss
//   Throws   as make_distributed_optimizer
std::unique_ptr<Strategy> make_horovod(comm::ProcessGroup& group, Device& device,
                                       const Recipe& recipe, double clip_norm,
                                       horovod::HorovodOptions options,
                                       const WatchHook& watch = {});

}  // namespace lockstep::train
