#include "engine/checkpoint/saved_run.hpp"

#include <algorithm>

#include "engine/checkpoint/file_storage.hpp"
#include "engine/checkpoint/read_index.hpp"
#include "engine/checkpoint/weights.hpp"

namespace lockstep::checkpoint {
SavedRun::SavedRun(const Storage& storage, const std::string& checkpoint) {
  open(storage, checkpoint);
}

SavedRun::SavedRun(const std::filesystem::path& checkpoint)
    : own_(std::make_unique<FileStorage>(checkpoint)) {
  open(*own_, "");
}

SavedRun::~SavedRun() = default;

void SavedRun::open(const Storage& storage, const std::string& checkpoint) {
  const auto index = read_index(storage, checkpoint, Reads::all);
  state_ = index->state;
  weights_ = std::make_unique<IndexedTensors>(storage, checkpoint, index, Of::model);
  optimizer_ = std::make_unique<IndexedTensors>(storage, checkpoint, index, Of::optimizer);
}

void SavedRun::check_optimizer(std::string_view kind) const {
  const std::string& saved = optimizer_->metadata().at("kind");
  if (saved == kind) return;
  throw CheckpointError(text(optimizer_->path(), " is the state of ",
                             saved.empty() ? "an unnamed optimizer" : quoted(saved),
                             ", but this run has \"", kind,
                             "\"; use the optimizer it was saved with"));
}

void SavedRun::load_optimizer(optim::Optimizer& optimizer,
                              const std::function<bool(const std::string& name)>& wanted) const {
  if (optimizer.parameters().empty()) return;
  Device& device = optimizer.parameters().front()->value.device();
  std::vector<optim::StateTensor> state;
  for (const TensorEntry& entry : optimizer_->tensors()) {
    if (wanted(entry.name)) state.push_back({entry.name, optimizer_->load(entry, device)});
  }
  try {
    optimizer.load_state(state);
  } catch (const UsageError& error) {
    throw CheckpointError(text(optimizer_->path(), ": ", error.what()));
  }
}

void SavedRun::load(nn::Module& model, optim::Optimizer& optimizer) const {
  check_same_model(*weights_, model);
  check_optimizer(optimizer.kind());
  LOCKSTEP_CHECK(!model.parameters().empty(),
                 "checkpoint: a model without parameters has nothing to load");
  load_optimizer(optimizer, [](const std::string&) { return true; });
  read_weights(*weights_, model);
}

void SavedRun::load_part(nn::Module& model, optim::Optimizer& optimizer) const {
  check_part_of_model(*weights_, model);
  check_optimizer(optimizer.kind());
  load_optimizer(optimizer, [&](const std::string& name) {
    return std::ranges::any_of(optimizer.parameters(), [&](const Parameter* parameter) {
      return name.starts_with(parameter->name + ".") &&
             name.find('.', parameter->name.size() + 1) == std::string::npos;
    });
  });
  read_weights(*weights_, model);
}

}  // namespace lockstep::checkpoint
