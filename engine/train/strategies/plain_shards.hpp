// Sharded state in its plain form: the parts of lesson 11 gather, free and reduce, and nothing
// overlaps. zero::ShardedUnits does the same ahead of time and beside the passes; losses are those
// of the same sums in the same order.
#pragma once

#include <memory>

#include "engine/parallel/zero/sharded_model.hpp"
#include "engine/parallel/zero/unit_plan.hpp"

namespace lockstep::train {

// A model of which each rank keeps flat shards.
//   sharding  zero_1        whole parameters and gradients; make_zero_1_optimizer reduces, updates
//                           and gathers
//             zero_2        buckets of gradients, a unit each, by make_zero_2_gradients; parameters
//                           are whole, and updated ranges are gathered after the update
//             no_shard, shard_grad_op, full_shard
//                           units that come and go by make_fully_sharded. With copies, full_shard
//                           is hybrid: units come and go in `groups.shards`, and reduce_hybrid
//                           takes their gradients across
//   Comm      as the parts say; every call waits for what it starts, but for one bucket in flight
//   Throws    ContractError for a model with a buffer
std::unique_ptr<zero::ShardedModel> make_plain_shards(const nn::ModelSpec& spec, std::uint64_t seed,
                                                      Device& device, zero::ShardGroups groups,
                                                      zero::Sharding sharding);

}  // namespace lockstep::train
