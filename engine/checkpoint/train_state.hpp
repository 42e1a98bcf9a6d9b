// The state of a run as JSON: a part of an index, and in older checkpoints the file train.json.
// Private to this room.
#pragma once

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/json_fields.hpp"

namespace lockstep::checkpoint {

Json json_of(const TrainState& state);
//   Throws  CheckpointError, which names `where`, unless `json` is what json_of gives: every field
//           once, none other, each of its type
TrainState train_state_of(const Json& json, const std::string& where);

}  // namespace lockstep::checkpoint
