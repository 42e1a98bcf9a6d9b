// A model's weights in one file: its parameters and buffers, each under its own name.
#pragma once

#include <filesystem>

#include "engine/checkpoint/safetensors.hpp"
#include "engine/nn/module.hpp"

namespace lockstep::checkpoint {

//   Throws  CheckpointError when the disk refuses; an older file is then as it was
void save_weights(const std::filesystem::path& file, nn::Module& model,
                  const Metadata& metadata = {});

//   Throws  CheckpointError when the file has other names, dtypes or shapes than `model`, with the
//           first that differs in the model's order; nothing is read then
void load_weights(const std::filesystem::path& file, nn::Module& model);

// Everything of a model that is saved, in its own order.
std::vector<NamedTensor> tensors_of(nn::Module& model);

// The two halves of load_weights, for who has more to check before anything is changed. The file
// may hold more than a part of a model, and of a parameter that is held in part (Parameter::whole)
// the whole.
void check_part_of_model(const SavedTensors& file, nn::Module& part);
void check_same_model(const SavedTensors& file, nn::Module& model);
void read_weights(const SavedTensors& file, nn::Module& model);

}  // namespace lockstep::checkpoint
