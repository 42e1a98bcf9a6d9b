// Task: one process, any checkpoint. Make the model, find each of its tensors in the checkpoint,
// also behind a wrapper's prefix, check them all, and only then read them. The contract is in
// engine/checkpoint/load_for_inference.hpp. open_weights opens a checkpoint; tensors_of
// (engine/checkpoint/weights.hpp) lists the tensors of a model.
#include "engine/checkpoint/load_for_inference.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/checkpoint/safetensors.hpp"
#include "engine/checkpoint/weights.hpp"

namespace lockstep::checkpoint {

// >>> your code
namespace {

// The words before every name of the checkpoint: those of wrappers, or none.
std::string prefix_in(const SavedTensors& weights, const std::vector<NamedTensor>& model) {
  const std::string& first = model.front().name;
  for (const TensorEntry& saved : weights.tensors()) {
    if (!saved.name.ends_with(first)) continue;
    const std::string prefix = saved.name.substr(0, saved.name.size() - first.size());
    const auto has = [&](const NamedTensor& mine) {
      return weights.find(prefix + mine.name) != nullptr;
    };
    if ((prefix.empty() || prefix.ends_with('.')) && std::ranges::all_of(model, has)) return prefix;
  }
  return "";
}

}  // namespace
// <<< your code

std::unique_ptr<nn::Module> load_for_inference(const Storage& storage,
                                               const std::string& checkpoint,
                                               const nn::ModelSpec& spec, Device& device) {
  // >>> your code
  const auto weights = open_weights(storage, checkpoint);
  auto model = nn::make_model(spec, device, 0);
  const std::vector<NamedTensor> mine = tensors_of(*model);
  const std::string prefix = prefix_in(*weights, mine);
  for (const NamedTensor& one : mine) {
    const TensorEntry* const saved = weights->find(prefix + one.name);
    if (saved != nullptr && saved->dtype == one.value.dtype() &&
        saved->shape == one.value.shape()) {
      continue;
    }
    throw CheckpointError(
        text(weights->path(), ": ", quoted(one.name), " is ", name_of(one.value.dtype()), " ",
             text_of(one.value.shape()), " in the model, and ",
             saved == nullptr
                 ? std::string("not in the checkpoint")
                 : text(name_of(saved->dtype), " ", text_of(saved->shape), " in the checkpoint")));
  }
  for (const NamedTensor& one : mine) {
    weights->load_into(*weights->find(prefix + one.name), one.value);
  }
  model->prepare({.mode = nn::Mode::evaluation});
  return model;
  // <<< your code
}

}  // namespace lockstep::checkpoint
