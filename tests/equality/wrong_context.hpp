// Sequences that ranks share, with one mistake each: those that are easily made.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/parallel/sequence/context_layers.hpp"

namespace lockstep::test {

enum class ContextFault : std::uint8_t {
  none,
  local_positions,  // a rank's tokens are numbered from 0, for the table of positions
  local_mask,       // the same for who sees whom
  not_rescaled,     // when a block is merged, what is there keeps its weight
  own_lost,         // the gradient of a block is what other ranks found for it
  mean_of_ranks,    // a rank's loss is the mean over its own labels
};

std::shared_ptr<nn::LayerMaker> make_wrong_context(comm::ProcessGroup& group,
                                                   sequence_parallel::ContextKind kind,
                                                   std::int64_t length,
                                                   std::shared_ptr<nn::LayerMaker> inner,
                                                   ContextFault fault);

}  // namespace lockstep::test
