// What mistakes in saving leave as it should be, in short: the rest of the part rank0_checkpoint.
// Each of them includes it, and defines save_from_one.
#pragma once

#include <span>

#include "engine/checkpoint/rank0_checkpoint.hpp"

namespace lockstep::checkpoint {

void write_whole(Storage& storage, const std::string& file, const std::string& content) {
  storage.write(file + ".tmp", 0, std::as_bytes(std::span(content)));
  storage.sync(file + ".tmp");
  storage.rename(file + ".tmp", file);
  storage.sync(folder_of(file));
}

std::optional<TrainState> load_for_all(comm::ProcessGroup&, const Storage& storage,
                                       const Restore& restore) {
  const auto latest = latest_in(storage);
  if (!latest) return std::nullopt;
  const SavedRun saved(storage, *latest);
  restore(saved);
  return saved.state();
}

// One save, on the rank that calls it.
void write_and_commit(Storage& storage, const Contents& contents, const TrainState& state,
                      const SaveOptions& options) {
  const Draft draft = begin_save(storage, state.step);
  const std::string share = write_share(storage, draft, {}, contents, options.model);
  commit_save(storage, draft, {share}, state, options);
}

}  // namespace lockstep::checkpoint
