// Wrong on purpose: the files are written in the order of their names, so the index comes before
// those that it names.
#include <cstddef>
#include <vector>

#include "engine/checkpoint/memory_storage.hpp"
#include "lessons/17_fault_tolerance/broken/usual.hpp"

namespace lockstep::checkpoint {
namespace {

void copy(const Storage& from, const std::string& folder, const Stored& file, Storage& to) {
  const std::string name = within(folder, file.name);
  std::vector<std::byte> bytes(file.bytes);
  from.read(name, 0, bytes);
  to.write(name, 0, bytes);
  to.sync(name);
}

}  // namespace

void save_from_one(comm::ProcessGroup& group, int writer, Storage& storage,
                   const Contents& contents, const TrainState& state, const SaveOptions& options) {
  MemoryStorage whole;
  std::vector<Stored> files;
  if (group.rank() == writer) {
    write_and_commit(whole, contents, state, options);
    const Draft draft = begin_save(storage, state.step);
    files = whole.list(draft.folder);
    copy(whole, draft.folder, files.front(), storage);
  }
  CpuDevice device;
  const Tensor saved = full({1}, 1, DType::int64, device);
  group.broadcast(saved, writer);  // the checkpoint counts, so the others go on
  for (std::size_t i = 1; i < files.size(); ++i) {
    copy(whole, folder_name(state.step), files[i], storage);
  }
}

}  // namespace lockstep::checkpoint
