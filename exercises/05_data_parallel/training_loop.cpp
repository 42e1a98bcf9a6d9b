// Task: the loop around the step. Make the replicas equal, and in every epoch read this rank's
// samples in that epoch's order, batch by batch. For each batch, set the rate of the step, tell the
// model what the pass is for, take the step, and let rank 0 log the loss of all ranks together. At
// the end, no rank leaves before rank 0 has logged its last line. You need broadcast_parameters,
// distributed_indices, make_plain_loader, learning_rate_at and data_parallel_step, and the group's
// all_reduce and barrier.
// The contract stands in engine/train/training_loop.hpp.
#include "engine/train/training_loop.hpp"

#include "engine/base/error.hpp"
#include "engine/data/distributed_sampler.hpp"
#include "engine/data/loader.hpp"
#include "engine/parallel/data_parallel/data_parallel_step.hpp"
#include "engine/replicas/broadcast_parameters.hpp"

namespace lockstep::train {

void distributed_train(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer& optimizer,
                       const data::Dataset& dataset, const LoopOptions& options) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)model, (void)optimizer, (void)dataset, (void)options;
  throw NotImplemented("training_loop");
  // <<< your code
}

}  // namespace lockstep::train
