// From a distributed run to one process: any checkpoint, whoever wrote it, becomes a model that
// answers. There is no group, and no number of ranks. What the run needed and an answer does not
// (the optimizer's state, gradients, dropout) is left where it is.
//
// A request needs the weights and its own activations. So one process serves a model that many
// ranks trained, as long as the weights fit: 2 bytes a parameter in bfloat16 instead of the 16 of
// training.
#pragma once

#include <memory>
#include <string>

#include "engine/checkpoint/saved_tensors.hpp"
#include "engine/checkpoint/storage.hpp"
#include "engine/nn/model_spec.hpp"

namespace lockstep::checkpoint {

// The saved parameters and buffers of a checkpoint, to be read. Of its files, it reads the index.
//   storage  must outlive the result
//   Throws   CheckpointError when a file is missing or cut off, or is no checkpoint's
std::unique_ptr<const SavedTensors> open_weights(const Storage& storage,
                                                 const std::string& checkpoint);

// Makes the model and reads its weights. A part: defined in solutions/17_fault_tolerance.
//   checkpoint  its folder; of one writer or of many, of any layout, also of the older form.
//               It may have tensors that the model has not
//   spec        how the model is made. Its layers are whole
//   Returns     the model, prepared for an evaluation: dropout does nothing
//   Ensures     every parameter and buffer has the bits that were saved, under its own name or
//               behind a prefix that is the same for all of them, as wrappers leave it ("module.").
//               Every element of them is read once; of the optimizer's state none is read
//   Throws      CheckpointError, which names the checkpoint and, as the model calls it, the first
//               tensor in the model's order that is missing or has another shape or dtype; nothing
//               is read then
std::unique_ptr<nn::Module> load_for_inference(const Storage& storage,
                                               const std::string& checkpoint,
                                               const nn::ModelSpec& spec, Device& device);

}  // namespace lockstep::checkpoint
