// The writer tells the others by an all-reduce of errors, and clears a save away that throws in a
// destructor. The name of the last checkpoint travels as letters. The folder is synced twice.
#include <algorithm>
#include <exception>
#include <string>

#include "engine/base/error.hpp"
#include "engine/checkpoint/rank0_checkpoint.hpp"

namespace lockstep::checkpoint {
namespace {

struct Unsaved {
  Unsaved(Storage& to, std::int64_t step) : storage(to), draft(begin_save(to, step)) {}
  Unsaved(const Unsaved&) = delete;
  Unsaved& operator=(const Unsaved&) = delete;
  ~Unsaved() {
    if (!committed) abandon_save(storage, draft);
  }
  Storage& storage;
  Draft draft;
  bool committed = false;
};

}  // namespace

void write_whole(Storage& storage, const std::string& file, const std::string& content) {
  const std::string beside = file + ".tmp";
  if (is_there(storage, beside)) storage.remove(beside);
  storage.write(beside, 0, std::as_bytes(std::span(content)));
  storage.sync(folder_of(file));
  storage.sync(beside);
  storage.rename(beside, file);
  storage.sync(folder_of(file));
}

void save_from_one(comm::ProcessGroup& group, int writer, Storage& storage,
                   const Contents& contents, const TrainState& state, const SaveOptions& options) {
  std::exception_ptr failure;
  if (group.rank() == writer) {
    try {
      Unsaved one(storage, state.step);
      const auto share = write_share(storage, one.draft, {}, contents, options.model);
      commit_save(storage, one.draft, {share}, state, options);
      one.committed = true;
    } catch (...) {
      failure = std::current_exception();
    }
  }
  CpuDevice device;
  const Tensor errors = full({1}, failure ? 1 : 0, DType::float64, device);
  group.all_reduce(errors, ReduceOp::max);
  if (failure) std::rethrow_exception(failure);
  if (errors.item() > 0) throw CheckpointError(text("rank ", writer, " could not save"));
}

std::optional<TrainState> load_for_all(comm::ProcessGroup& group, const Storage& storage,
                                       const Restore& restore) {
  CpuDevice device;
  const Tensor letters = full({64}, 0, DType::uint8, device);
  const auto name = letters.data<std::uint8_t>();
  if (group.rank() == 0) {
    if (const auto latest = latest_in(storage)) std::ranges::copy(*latest, name.begin());
  }
  group.broadcast(letters, 0);
  std::string last(name.begin(), name.end());
  last.resize(last.find('\0'));
  if (last.empty()) return std::nullopt;
  const SavedRun saved(storage, last);
  restore(saved);
  return saved.state();
}

}  // namespace lockstep::checkpoint
