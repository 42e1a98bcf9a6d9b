#include "engine/checkpoint/read_index.hpp"

#include <algorithm>

#include "engine/checkpoint/safetensors.hpp"
#include "engine/checkpoint/train_state.hpp"

namespace lockstep::checkpoint {
namespace {

constexpr std::uint64_t state_bytes_max = 1 << 20;
constexpr int state_levels = 3;

const Stored* find(const std::vector<Stored>& names, const std::string& name) {
  const auto found = std::ranges::find_if(
      names, [&](const Stored& one) { return one.kind == StoredKind::file && one.name == name; });
  return found == names.end() ? nullptr : &*found;
}

// "tensor "0.weight" [0, 0]-[4, 6] is in it", of a file's first box.
std::string told_of_first(const Index& index, std::size_t file) {
  for (const IndexedTensor& tensor : index.tensors) {
    for (const SavedBox& saved : tensor.boxes) {
      if (saved.file != file) continue;
      return text("tensor ", quoted(tensor.name), " ", text_of(saved.box), " is in it");
    }
  }
  return "no tensor is in it";
}

// Adds a file of the older form, which has whole tensors.
void add_file(Index& index, const Storage& storage, const std::string& folder,
              const std::vector<Stored>& names, const char* name, Of of) {
  const std::string file = within(folder, name);
  const Stored* const there = find(names, name);
  if (there == nullptr) throw CheckpointError(text(storage.told(file), " is missing"));
  const OpenedHeader opened = read_header(
      [&](std::uint64_t at, std::span<std::byte> into) { storage.read(file, at, into); },
      there->bytes, storage.told(file));
  for (const TensorEntry& entry : opened.header.tensors) {
    IndexedTensor tensor{of == Of::model ? PieceKind::parameter : PieceKind::optimizer_state,
                         entry.name,
                         entry.dtype,
                         entry.shape,
                         {}};
    if (entry.end > entry.begin) {
      tensor.boxes.push_back(
          {whole_of(entry.shape).front(), index.files.size(), opened.data_start + entry.begin, {}});
    }
    index.tensors.push_back(std::move(tensor));
  }
  index.files.push_back({name, there->bytes});
  if (of == Of::model) index.model = opened.header.metadata;
  const auto kind = opened.header.metadata.find("kind");
  if (of == Of::optimizer && kind != opened.header.metadata.end()) index.optimizer = kind->second;
}

}  // namespace

void check_files(const Storage& storage, const std::string& folder,
                 const std::vector<Stored>& names, const Index& index) {
  for (std::size_t i = 0; i < index.files.size(); ++i) {
    const IndexedFile& file = index.files[i];
    const Stored* const there = find(names, file.name);
    if (there != nullptr && there->bytes == file.bytes) continue;
    throw CheckpointError(text(storage.told(within(folder, file.name)),
                               there == nullptr
                                   ? std::string(" is missing")
                                   : text(" has ", there->bytes, " bytes, and had ", file.bytes,
                                          there->bytes < file.bytes ? "; is it cut off?" : ""),
                               "; ", told_of_first(index, i)));
  }
}

std::shared_ptr<const Index> read_index(const Storage& storage, const std::string& folder,
                                        Reads reads) {
  const std::vector<Stored> names = storage.list(folder);
  const std::string file = within(folder, index_file);
  if (find(names, index_file) != nullptr) {
    const auto index = std::make_shared<const Index>(
        parse_index(read_text(storage, file, index_bytes_max), storage.told(file), Covers::all));
    check_files(storage, folder, names, *index);
    return index;
  }
  Index index;
  if (reads == Reads::all) {
    const std::string state = within(folder, state_file), told = storage.told(state);
    if (find(names, state_file) == nullptr) {
      throw CheckpointError(text(storage.told(folder), " has no ", index_file,
                                 ", so it is no checkpoint, or its save was interrupted"));
    }
    index.state = train_state_of(
        parse_json(read_text(storage, state, state_bytes_max), told, state_levels), told);
  }
  add_file(index, storage, folder, names, model_file, Of::model);
  if (reads == Reads::all) add_file(index, storage, folder, names, optimizer_file, Of::optimizer);
  return std::make_shared<const Index>(std::move(index));
}

bool is_committed(const Storage& storage, const std::string& folder) {
  const std::vector<Stored> names = storage.list(folder);
  return find(names, index_file) != nullptr || find(names, state_file) != nullptr;
}

}  // namespace lockstep::checkpoint
