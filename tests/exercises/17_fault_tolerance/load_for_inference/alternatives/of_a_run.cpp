// Opens the checkpoint as a run, of which it reads the weights alone, box by box; the prefix is
// found by the name that ends with the model's last one.
#include "engine/base/error.hpp"
#include "engine/checkpoint/load_for_inference.hpp"
#include "engine/checkpoint/saved_run.hpp"
#include "engine/checkpoint/weights.hpp"

namespace lockstep::checkpoint {

std::unique_ptr<nn::Module> load_for_inference(const Storage& storage,
                                               const std::string& checkpoint,
                                               const nn::ModelSpec& spec, Device& device) {
  const SavedRun run(storage, checkpoint);
  const SavedTensors& weights = run.weights();
  auto model = nn::make_model(spec, device, 1);
  const auto mine = tensors_of(*model);
  std::string prefix;
  for (const TensorEntry& saved : weights.tensors()) {
    const std::string& last = mine.back().name;
    if (!saved.name.ends_with("." + last)) continue;
    const std::string before = saved.name.substr(0, saved.name.size() - last.size());
    bool fits = true;
    for (const NamedTensor& one : mine) fits = fits && weights.find(before + one.name) != nullptr;
    if (fits) prefix = before;
  }
  std::vector<const TensorEntry*> entries;
  for (const NamedTensor& one : mine) {
    entries.push_back(weights.find(prefix + one.name));
    const bool fits = entries.back() != nullptr && entries.back()->dtype == one.value.dtype() &&
                      entries.back()->shape == one.value.shape();
    if (!fits) throw CheckpointError(text(checkpoint, ": ", one.name, " does not fit"));
  }
  for (std::size_t i = 0; i < mine.size(); ++i) {
    weights.load_boxes(*entries[i], whole_of(entries[i]->shape), mine[i].value.view({-1}));
  }
  model->prepare({.mode = nn::Mode::evaluation});
  return model;
}

}  // namespace lockstep::checkpoint
