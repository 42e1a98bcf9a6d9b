// ZeRO 2 in its plain form: make_zero_2_gradients reduces buckets of gradients to their owners.
#pragma once

#include <memory>

#include "engine/parallel/zero/sharded_model.hpp"

namespace lockstep::train {

// As make_plain_shards (plain_shards.hpp).
std::unique_ptr<zero::ShardedModel> make_plain_buckets(const nn::ModelSpec& spec,
                                                       std::uint64_t seed, Device& device,
                                                       zero::ShardGroups groups);

}  // namespace lockstep::train
