// Wrong on purpose: all of the save stands under one condition, and so does its collective, which
// the other ranks never enter.
#include <span>

#include "engine/checkpoint/rank0_checkpoint.hpp"

namespace lockstep::checkpoint {

void write_whole(Storage& storage, const std::string& file, const std::string& content) {
  storage.write(file + ".tmp", 0, std::as_bytes(std::span(content)));
  storage.sync(file + ".tmp");
  storage.rename(file + ".tmp", file);
  storage.sync(folder_of(file));
}

void save_from_one(comm::ProcessGroup& group, int writer, Storage& storage,
                   const Contents& contents, const TrainState& state, const SaveOptions& options) {
  if (group.rank() != writer) return;
  const Draft draft = begin_save(storage, state.step);
  const std::string share = write_share(storage, draft, {}, contents, options.model);
  commit_save(storage, draft, {share}, state, options);
  group.barrier();
}

std::optional<TrainState> load_for_all(comm::ProcessGroup&, const Storage& storage,
                                       const Restore& restore) {
  const auto latest = latest_in(storage);
  if (!latest) return std::nullopt;
  const SavedRun saved(storage, *latest);
  restore(saved);
  return saved.state();
}

}  // namespace lockstep::checkpoint
