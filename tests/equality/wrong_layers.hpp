// Layers that ranks share, with one mistake each: those that are easily made.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/collectives/bucket.hpp"
#include "engine/parallel/tensor/tensor_layers.hpp"
#include "engine/train/training_ranks.hpp"

namespace lockstep::test {

enum class LayerFault : std::uint8_t {
  none,
  norms_not_summed,   // each rank keeps the gradient of its own tokens
  bias_everywhere,    // added in every rank's term of a sum, so t times
  swapped,            // the two operators around a layer
  head_not_trained,   // a tied table that gets the embedding's gradient only
  mean_of_all_ranks,  // gradients are averaged over the ranks of a layer too
};

std::shared_ptr<const nn::LayerMaker> make_wrong_layers(comm::ProcessGroup& group,
                                                        tensor_parallel::Sequence sequence,
                                                        LayerFault fault);
// A hook of DDP: the mean over dp, then over the ranks of a layer too.
std::unique_ptr<collectives::CommHook> make_mean_of_all(const train::TrainingRanks& ranks);

}  // namespace lockstep::test
