#include "engine/checkpoint/saved_run.hpp"

#include <algorithm>

#include "engine/checkpoint/train_state.hpp"
#include "engine/checkpoint/weights.hpp"

namespace lockstep::checkpoint {
namespace {

constexpr std::uint64_t state_bytes_max = 1 << 20;

TrainState read_state(const std::filesystem::path& path) {
  const OldFile file(path);
  if (file.size() > state_bytes_max) {
    throw CheckpointError(
        text(file.path(), " has ", file.size(), " bytes; ", state_bytes_max, " at most are read"));
  }
  std::string json(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(json)));
  return parse_train_state(json, file.path().string());
}

}  // namespace

SavedRun::SavedRun(const std::filesystem::path& checkpoint)
    : state_(read_state(checkpoint / state_file)),
      weights_(checkpoint / model_file),
      optimizer_(checkpoint / optimizer_file) {}

void SavedRun::check_optimizer(std::string_view kind) const {
  const auto saved = optimizer_.metadata().find("kind");
  const bool named = saved != optimizer_.metadata().end();
  if (named && saved->second == kind) return;
  throw CheckpointError(text(optimizer_.path(), " is the state of ",
                             named ? quoted(saved->second) : "an unnamed optimizer",
                             ", but this run has \"", kind,
                             "\"; use the optimizer it was saved with"));
}

void SavedRun::load_optimizer(optim::Optimizer& optimizer,
                              const std::function<bool(const std::string& name)>& wanted) const {
  if (optimizer.parameters().empty()) return;
  Device& device = optimizer.parameters().front()->value.device();
  std::vector<optim::StateTensor> state;
  for (const TensorEntry& entry : optimizer_.tensors()) {
    if (wanted(entry.name)) state.push_back({entry.name, optimizer_.load(entry, device)});
  }
  try {
    optimizer.load_state(state);
  } catch (const UsageError& error) {
    throw CheckpointError(text(optimizer_.path(), ": ", error.what()));
  }
}

void SavedRun::load(nn::Module& model, optim::Optimizer& optimizer) const {
  check_same_model(weights_, model);
  check_optimizer(optimizer.kind());
  LOCKSTEP_CHECK(!model.parameters().empty(),
                 "checkpoint: a model without parameters has nothing to load");
  load_optimizer(optimizer, [](const std::string&) { return true; });
  read_weights(weights_, model);
}

void SavedRun::load_part(nn::Module& model, optim::Optimizer& optimizer) const {
  check_part_of_model(weights_, model);
  check_optimizer(optimizer.kind());
  load_optimizer(optimizer, [&](const std::string& name) {
    return std::ranges::any_of(optimizer.parameters(), [&](const Parameter* parameter) {
      return name.starts_with(parameter->name + ".") &&
             name.find('.', parameter->name.size() + 1) == std::string::npos;
    });
  });
  read_weights(weights_, model);
}

}  // namespace lockstep::checkpoint
