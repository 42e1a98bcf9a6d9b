// ZeRO 1 as its part does it (plain_shards.hpp).
#pragma once

#include "engine/parallel/zero/sharded_model.hpp"

namespace lockstep::train {

// Whole parameters and gradients, and an optimizer, adam or adamw, of which a rank has its ranges.
//   Throws  UsageError from make_optimizer for another one, and from its load_state when parameters
//           have had different numbers of updates
std::unique_ptr<zero::ShardedModel> make_plain_zero_1(const nn::ModelSpec& spec, std::uint64_t seed,
                                                      Device& device, zero::ShardGroups groups);

}  // namespace lockstep::train
