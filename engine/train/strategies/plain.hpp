// The plain way: data_parallel_step, which averages tensor by tensor when backward is over.
#pragma once

#include "engine/train/strategies/whole_model.hpp"

namespace lockstep::train {

// Takes one batch a step.
//   Ensures  replicas are rank 0's
//   Comm     replicas::make_equal; a step: the gradients once, and the loss as one number
//   Throws   ContractError, on every rank, when the replicas are not one model, naming the first
//            parameter that differs
std::unique_ptr<Strategy> make_plain(TrainingRanks ranks, Replica replica, double clip_norm);

}  // namespace lockstep::train
