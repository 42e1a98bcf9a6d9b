// A file is written in two pieces. All ranks gather a flag of each, which says whether its save
// worked, and a barrier ends the save. The step of the last checkpoint travels beside a flag.
#include <algorithm>
#include <exception>

#include "engine/base/error.hpp"
#include "engine/checkpoint/rank0_checkpoint.hpp"

namespace lockstep::checkpoint {

void write_whole(Storage& storage, const std::string& file, const std::string& content) {
  const std::string beside = file + ".tmp", folder = folder_of(file);
  for (const Stored& one : storage.list(folder)) {
    if (within(folder, one.name) == beside) storage.remove(beside);
  }
  const auto bytes = std::as_bytes(std::span(content));
  const std::size_t half = bytes.size() / 2;
  storage.write(beside, 0, bytes.first(half));
  storage.write(beside, half, bytes.subspan(half));
  storage.sync(beside);
  storage.rename(beside, file);
  storage.sync(folder);
}

void save_from_one(comm::ProcessGroup& group, int writer, Storage& storage,
                   const Contents& contents, const TrainState& state, const SaveOptions& options) {
  std::exception_ptr failure;
  const bool writes = group.rank() == writer;
  if (writes) {
    std::optional<Draft> draft;
    try {
      draft = begin_save(storage, state.step);
      commit_save(storage, *draft, {write_share(storage, *draft, {}, contents, options.model)},
                  state, options);
    } catch (...) {
      failure = std::current_exception();
      if (draft) abandon_save(storage, *draft);
    }
  }
  CpuDevice device;
  const Tensor mine = full({1}, failure ? 1 : 0, DType::uint8, device);
  const Tensor all = full({group.size()}, 0, DType::uint8, device);
  group.all_gather(mine, all);
  group.barrier();
  if (failure) std::rethrow_exception(failure);
  for (int rank = 0; rank < group.size(); ++rank) {
    if (all.item(rank) == 0) continue;
    throw CheckpointError(text("rank ", rank, " could not save"));
  }
}

std::optional<TrainState> load_for_all(comm::ProcessGroup& group, const Storage& storage,
                                       const Restore& restore) {
  CpuDevice device;
  const Tensor told = full({2}, 0, DType::int64, device);
  const auto numbers = told.data<std::int64_t>();
  if (group.rank() == 0) {
    const auto all = checkpoints_in(storage);
    if (!all.empty()) numbers[0] = 1, numbers[1] = *step_of(all.back());
  }
  group.broadcast(told, 0);
  if (numbers[0] == 0) return {};
  const SavedRun saved(storage, folder_name(numbers[1]));
  const TrainState state = saved.state();
  restore(saved);
  return state;
}

}  // namespace lockstep::checkpoint
