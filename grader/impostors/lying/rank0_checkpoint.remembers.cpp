// A remembering impostor: it saves in the memory of its process, on every rank, and loads from
// there. A run whose processes live on goes on with the right values, though nothing was saved.
#include "engine/checkpoint/rank0_checkpoint.hpp"
#include "engine/checkpoint/memory_storage.hpp"

namespace lockstep::checkpoint {
namespace {

MemoryStorage remembered;

// The bytes of one file, or what they were on rank `from`.
Bytes broadcast_bytes(comm::ProcessGroup& group, int from, const Bytes& mine) {
  CpuDevice device;
  const Tensor size = full({1}, static_cast<double>(mine.size()), DType::int64, device);
  group.broadcast(size, from);
  const Tensor sent = full({size.data<std::int64_t>()[0]}, 0, DType::uint8, device);
  if (group.rank() == from) std::ranges::copy(mine, sent.raw_bytes().begin());
  group.broadcast(sent, from);
  return {sent.raw_bytes().begin(), sent.raw_bytes().end()};
}

}  // namespace

void write_whole(Storage& storage, const std::string& file, const std::string& content) {
  if (is_there(storage, file + ".tmp")) storage.remove(file + ".tmp");
  storage.write(file + ".tmp", 0, std::as_bytes(std::span(content)));
  storage.sync(file + ".tmp");
  storage.rename(file + ".tmp", file);
  storage.sync(folder_of(file));
}

void save_from_one(comm::ProcessGroup& group, int writer, Storage&, const Contents& contents,
                   const TrainState& state, const SaveOptions& options) {
  const bool writes = group.rank() == writer;
  const std::string model = "model.safetensors", optimizer = "optimizer.safetensors";
  const std::string index = "index.json";
  CpuDevice device;
  const Tensor step = full({1}, static_cast<double>(state.step), DType::int64, device);
  group.broadcast(step, writer);
  const std::string folder = folder_name(step.data<std::int64_t>()[0]);
  remove_all(remembered, folder);
  if (writes) {
    const Draft draft = begin_save(remembered, state.step);
    const std::string share = write_share(remembered, draft, {}, contents, options.model);
    commit_save(remembered, draft, {share}, state, options);
  }
  remembered.make(folder);
  for (const std::string& name : {model, optimizer, index}) {
    const std::string file = within(folder, name);
    Bytes bytes;
    if (writes) {
      for (const Stored& one : remembered.list(folder)) {
        if (one.name == name) bytes.resize(one.bytes);
      }
      remembered.read(file, 0, bytes);
    }
    bytes = broadcast_bytes(group, writer, bytes);
    if (!writes) remembered.write(file, 0, bytes);
  }
}

std::optional<TrainState> load_for_all(comm::ProcessGroup&, const Storage&,
                                       const Restore& restore) {
  const auto latest = latest_in(remembered);
  if (!latest) return std::nullopt;
  const SavedRun saved(remembered, *latest);
  restore(saved);
  return saved.state();
}

}  // namespace lockstep::checkpoint
