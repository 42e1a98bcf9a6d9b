#include "engine/train/strategies/sharded_state.hpp"

#include "engine/base/error.hpp"

namespace lockstep::train {
namespace {

using Owned = zero::ShardedUnits::Owned;

// "h.0.ln_1.weight.exp_avg" is of "h.0.ln_1.weight".
const Owned* find_owner(const OwnedParts& all, const std::string& name) {
  const std::string of = name.substr(0, name.rfind('.'));
  for (const Owned* owned : all) {
    if (owned->parameter.name == of) return owned;
  }
  return nullptr;
}

}  // namespace

Boxes boxes_of(const Owned& owned) {
  return range_of(whole_of(*owned.parameter.whole), owned.begin, owned.end);
}

void add_state(std::vector<Piece>& pieces, const optim::Optimizer& optimizer,
               const OwnedParts& all) {
  for (const auto& [name, value] : optimizer.state()) {
    const Owned* owned = find_owner(all, name);
    LOCKSTEP_CHECK(owned != nullptr, "state ", name, " belongs to no parameter of this rank");
    const bool counter = value.shape().empty();  // the number of updates
    const Shape shape = counter ? value.shape() : *owned->parameter.whole;
    pieces.push_back({PieceKind::optimizer_state, name, shape,
                      counter ? whole_of(shape) : boxes_of(*owned), value});
  }
}

void restore_state(const checkpoint::SavedRun& saved, optim::Optimizer& optimizer,
                   const OwnedParts& all, Device& device) {
  saved.check_optimizer(optimizer.kind());
  const checkpoint::SafetensorsFile& file = saved.optimizer();
  std::vector<optim::StateTensor> state;
  for (const checkpoint::TensorEntry& entry : file.tensors()) {
    const Owned* owned = find_owner(all, entry.name);
    if (owned == nullptr) continue;
    if (entry.shape.empty()) {  // the number of updates
      state.push_back({entry.name, file.load(entry, device)});
      continue;
    }
    if (numel_of(entry.shape) != numel_of(*owned->parameter.whole)) {
      throw checkpoint::CheckpointError(text(
          file.path(), ": ", entry.name, " has shape ", text_of(entry.shape), ", its parameter ",
          text_of(*owned->parameter.whole), "; make the model that the state was saved with"));
    }
    const Tensor mine = empty({owned->end - owned->begin}, entry.dtype, device);
    file.load_range(entry, owned->begin, mine);
    state.push_back({entry.name, mine});
  }
  try {
    optimizer.load_state(state);
  } catch (const UsageError& error) {
    throw checkpoint::CheckpointError(text(file.path(), ": ", error.what()));
  }
}

}  // namespace lockstep::train
