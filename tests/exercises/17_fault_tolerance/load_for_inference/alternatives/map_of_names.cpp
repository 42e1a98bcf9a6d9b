// Takes one word after the other off the saved names, until the model's tensors are all there.
#include <map>

#include "engine/base/error.hpp"
#include "engine/checkpoint/load_for_inference.hpp"
#include "engine/checkpoint/weights.hpp"

namespace lockstep::checkpoint {

std::unique_ptr<nn::Module> load_for_inference(const Storage& storage,
                                               const std::string& checkpoint,
                                               const nn::ModelSpec& spec, Device& device) {
  const auto weights = open_weights(storage, checkpoint);
  auto model = nn::make_model(spec, device, 0);
  model->prepare({.mode = nn::Mode::evaluation});
  std::map<std::string, const TensorEntry*> names, whole_names;
  for (const TensorEntry& saved : weights->tensors()) names[saved.name] = &saved;
  whole_names = names;
  const auto has_all = [&] {
    for (const NamedTensor& one : tensors_of(*model)) {
      if (!names.contains(one.name)) return false;
    }
    return true;
  };
  while (!has_all()) {
    // All names begin with the same word, or there is no prefix.
    std::map<std::string, const TensorEntry*> shorter;
    const std::string first = names.begin()->first;
    const std::string word = first.substr(0, first.find('.') + 1);
    for (const auto& [name, saved] : names) {
      if (!word.empty() && name.starts_with(word)) shorter[name.substr(word.size())] = saved;
    }
    if (shorter.size() != names.size()) {
      names = whole_names;
      break;
    }
    names = shorter;
  }
  for (const NamedTensor& one : tensors_of(*model)) {
    const auto saved = names.find(one.name);
    const bool fits = saved != names.end() && saved->second->shape == one.value.shape() &&
                      saved->second->dtype == one.value.dtype();
    if (!fits) throw CheckpointError(checkpoint + " has no such " + one.name);
  }
  for (const NamedTensor& one : tensors_of(*model)) {
    weights->load_into(*names.at(one.name), one.value);
  }
  return model;
}

}  // namespace lockstep::checkpoint
