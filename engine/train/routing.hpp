// The choices of routers in a step, of all ranks together.
#pragma once

#include <optional>

#include "engine/nn/layer_maker.hpp"
#include "engine/train/training_ranks.hpp"

namespace lockstep::train {

// Every rank that trains calls it after a step.
//   layers   which the step went through
//   device   of the model
//   Returns  the same on every rank; none where the maker routes nothing, or nobody has numbers
//   Comm     an all-reduce of L·E + 3 float64 among the trainers
std::optional<nn::Routing> routing_of_step(const nn::LayerMaker& layers, const TrainingRanks& ranks,
                                           Device& device);

}  // namespace lockstep::train
