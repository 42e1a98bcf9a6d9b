// The files of a checkpoint's folder, and the text of train.json. Private to this room.
#pragma once

#include "engine/checkpoint/checkpoint.hpp"

namespace lockstep::checkpoint {

constexpr const char* model_file = "model.safetensors";
constexpr const char* optimizer_file = "optimizer.safetensors";
constexpr const char* state_file = "train.json";

std::string train_state_text(const TrainState& state);
//   Throws  CheckpointError, which names `file`, unless `json` is what train_state_text writes:
//           every field once, none other, each of its type
TrainState parse_train_state(const std::string& json, const std::string& file);

}  // namespace lockstep::checkpoint
