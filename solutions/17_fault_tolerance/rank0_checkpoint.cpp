// Task: a checkpoint by one writer. Write a file so that it is whole or not there; let one rank
// save the run while the others wait until it counts; and let all ranks go on from the same
// checkpoint. The contract is in engine/checkpoint/rank0_checkpoint.hpp; begin_save, write_share
// and commit_save of engine/checkpoint/checkpoint.hpp are the three steps of a save.
#include "engine/checkpoint/rank0_checkpoint.hpp"

#include <algorithm>
#include <exception>

#include "engine/base/error.hpp"

namespace lockstep::checkpoint {
namespace {

// >>> your code
// All of a save, on the rank that has everything.
void write_and_commit(Storage& storage, const Contents& contents, const TrainState& state,
                      const SaveOptions& options) {
  const Draft draft = begin_save(storage, state.step, options, 1);
  try {
    const std::string share = write_share(storage, draft, {}, contents, options.model);
    commit_save(storage, draft, {share}, state, options);
  } catch (...) {
    abandon_save(storage, draft);
    throw;
  }
}
// <<< your code

}  // namespace

void write_whole(Storage& storage, const std::string& file, const std::string& content) {
  // >>> your code
  const std::string temporary = file + ".tmp";
  // One that was left by a save that ended here may be longer.
  if (is_there(storage, temporary)) storage.remove(temporary);
  storage.write(temporary, 0, std::as_bytes(std::span(content)));
  storage.sync(temporary);
  storage.rename(temporary, file);
  storage.sync(folder_of(file));
  // <<< your code
}

void save_from_one(comm::ProcessGroup& group, int writer, Storage& storage,
                   const Contents& contents, const TrainState& state, const SaveOptions& options) {
  // >>> your code
  CpuDevice device;
  const Tensor saved = full({1}, 1, DType::int64, device);
  std::exception_ptr failure;
  if (group.rank() == writer) {
    try {
      write_and_commit(storage, contents, state, options);
    } catch (...) {
      failure = std::current_exception();
      saved.fill_(0);
    }
  }
  group.broadcast(saved, writer);
  if (failure) std::rethrow_exception(failure);
  if (saved.item() == 0) {
    throw CheckpointError(text("nothing was saved: ", group.names().name(writer),
                               " could not write the checkpoint; its own message says why"));
  }
  // <<< your code
}

std::optional<TrainState> load_for_all(comm::ProcessGroup& group, const Storage& storage,
                                       const Restore& restore) {
  // >>> your code
  CpuDevice device;
  const Tensor step = full({1}, -1, DType::int64, device);
  if (group.rank() == 0) {
    if (const auto latest = latest_in(storage)) {
      step.fill_(static_cast<double>(*step_of(*latest)));
    }
  }
  group.broadcast(step, 0);
  const std::int64_t last = step.data<std::int64_t>()[0];
  if (last < 0) return std::nullopt;
  const SavedRun saved(storage, folder_name(last));
  restore(saved);
  return saved.state();
  // <<< your code
}

}  // namespace lockstep::checkpoint
