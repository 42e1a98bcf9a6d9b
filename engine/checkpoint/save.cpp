// Saving: all files, and then one rename.
#include <algorithm>
#include <charconv>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/file_storage.hpp"
#include "engine/checkpoint/index.hpp"
#include "engine/checkpoint/rank0_checkpoint.hpp"
#include "engine/checkpoint/read_index.hpp"
#include "engine/checkpoint/safetensors.hpp"
#include "engine/comm/solo_group.hpp"

namespace lockstep::checkpoint {
namespace {

constexpr const char* prefix = "step_";
constexpr const char* again_mark = "-again";
constexpr const char* tensors_end = ".safetensors";

// The number that follows `mark` in a name; 0 where there is none.
int number_after(const std::string& name, const std::string& mark) {
  int number = 0;
  const std::size_t at = name.find(mark);
  if (at == std::string::npos) return 0;
  std::from_chars(name.data() + at + mark.size(), name.data() + name.size(), number);
  return number;
}

std::string file_name(const char* stem, const Draft& draft, Writer writer) {
  return text(stem, writer.of > 1 ? text("-rank", writer.rank) : std::string(),
              draft.again > 0 ? text(again_mark, draft.again) : std::string(), tensors_end);
}

// True of files that this room writes.
bool has_tensors(const std::string& name) {
  return (name.starts_with("model") || name.starts_with("optimizer")) &&
         name.ends_with(tensors_end);
}

void check(const SaveOptions& options) {
  LOCKSTEP_CHECK(options.keep_last >= 0, "checkpoint: keep ", options.keep_last, "; 0 keeps all");
  for (const ExtraFile& file : options.files) {
    const std::string& name = file.name;
    LOCKSTEP_CHECK(!name.empty() && name == std::filesystem::path(name).filename() &&
                       name.front() != '.' && !name.ends_with(tensors_end) &&
                       !name.ends_with(".tmp") && name != index_file && name != state_file,
                   "checkpoint: a file cannot be added under the name ", quoted(name),
                   "; it needs a plain name that no other file of a checkpoint has");
  }
}

// "step_000500.tmp" and "step_000500.old.tmp", which saves of the older form have left.
bool is_older_remains(std::string name) {
  for (const char* end : {".tmp", ".old"}) {
    if (name.ends_with(end)) name.resize(name.size() - 4);
    if (step_of(name)) return true;
  }
  return false;
}

void clear_remains(Storage& storage) {
  for (const Stored& one : storage.list("")) {
    if (one.kind != StoredKind::folder) continue;
    const bool is_ours = step_of(one.name).has_value();
    if (is_ours ? is_committed(storage, one.name) : !is_older_remains(one.name)) continue;
    remove_all(storage, one.name);
  }
}

// Writes one file of tensors; `each` is told the place of each tensor in it, and its bytes.
IndexedFile write_tensors(Storage& storage, const std::string& folder, const std::string& name,
                          const std::vector<NamedTensor>& tensors, const Metadata& metadata,
                          const std::function<void(const TensorEntry&, std::uint64_t,
                                                   std::span<const std::byte>)>& each) {
  const std::string file = within(folder, name);
  const SafetensorsHeader header = header_of(tensors, metadata);
  const std::string first = header_text(header);
  storage.write(file, 0, std::as_bytes(std::span(first)));
  std::uint64_t end = first.size();
  for (const TensorEntry& entry : header.tensors) {
    const auto tensor = std::ranges::find(tensors, entry.name, &NamedTensor::name);
    const Tensor here = to_host(tensor->value);
    const std::span<const std::byte> bytes = here.raw_bytes();
    end = first.size() + entry.end;
    if (bytes.empty()) continue;
    storage.write(file, first.size() + entry.begin, bytes);
    each(entry, first.size() + entry.begin, bytes);
  }
  storage.sync(file);
  return {name, end};
}

std::string name_of_box(const Piece& piece, const Box& box) {
  return is_whole({box}, piece.shape) ? piece.name : text(piece.name, " ", text_of(box));
}

// Makes a checkpoint none: without its index, and then without the rest.
void remove_checkpoint(Storage& storage, const std::string& folder) {
  for (const Stored& one : storage.list(folder)) {
    if (one.name == index_file || one.name == state_file) {
      storage.remove(within(folder, one.name));
    }
  }
  storage.sync(folder);
  remove_all(storage, folder);
}

bool is_used(const Index& index, const std::string& file) {
  return std::ranges::find(index.files, file, &IndexedFile::name) != index.files.end();
}

// Removes files that the commit has replaced.
void remove_replaced(Storage& storage, const std::string& folder, const Index& index) {
  for (const Stored& one : storage.list(folder)) {
    const bool is_data = has_tensors(one.name) || one.name == state_file;
    if (is_data && !is_used(index, one.name)) storage.remove(within(folder, one.name));
  }
}

bool is_whole_checkpoint(const Storage& storage, const std::string& folder) {
  try {
    read_index(storage, folder, Reads::all);
    return true;
  } catch (const CheckpointError&) {
    return false;
  }
}

// Keeps `folder` and, of the others, the whole ones of the most steps: a run that went back to an
// earlier step must not lose what it just saved, and none may lose the last one that can be loaded.
void keep_last(Storage& storage, const std::string& folder, const SaveOptions& options) {
  auto others = checkpoints_in(storage);
  std::erase(others, folder);
  int kept = 1;
  for (auto one = others.rbegin(); one != others.rend(); ++one) {
    if (kept >= options.keep_last) {
      remove_checkpoint(storage, *one);
    } else if (std::ranges::find(options.damaged, *one) == options.damaged.end() &&
               is_whole_checkpoint(storage, *one)) {
      ++kept;
    }
  }
}

}  // namespace

std::string folder_name(std::int64_t step) {
  const std::string digits = text(step);
  return prefix + std::string(6 - std::min<std::size_t>(6, digits.size()), '0') + digits;
}

std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data() + 5, name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size() || step < 0) return std::nullopt;
  return folder_name(step) == name ? std::optional(step) : std::nullopt;
}

std::vector<NamedTensor> tensors_of(const std::vector<Piece>& pieces, Of of) {
  std::vector<NamedTensor> tensors;
  for (const Piece& piece : pieces) {
    if ((piece.kind == PieceKind::optimizer_state) != (of == Of::optimizer)) continue;
    std::int64_t at = 0;
    for (const Box& box : piece.boxes) {
      const std::int64_t count = numel_of(box);
      const Tensor part = piece.value.view({-1}).narrow(at, count);
      tensors.push_back({name_of_box(piece, box), part.view(shape_of(box))});
      at += count;
    }
  }
  return tensors;
}

Draft begin_save(Storage& storage, std::int64_t step) {
  LOCKSTEP_CHECK(step >= 0, "checkpoint: step ", step, "; steps count from 0");
  storage.make("");
  clear_remains(storage);
  Draft draft{folder_name(step)};
  for (const Stored& one : storage.list(draft.folder)) {
    if (!has_tensors(one.name)) continue;
    draft.again = std::max(draft.again, 1 + number_after(one.name, again_mark));
  }
  storage.make(draft.folder);
  storage.sync("");
  return draft;
}

std::string write_share(Storage& storage, const Draft& draft, Writer writer,
                        const Contents& contents, const Metadata& model) {
  Index share;
  share.model = model;
  share.optimizer = contents.optimizer;
  std::map<std::pair<bool, std::string>, std::pair<std::size_t, const Box*>> boxes;  // by name
  for (const Piece& piece : contents.pieces) {
    for (const Box& box : piece.boxes) {
      boxes[{piece.kind == PieceKind::optimizer_state, name_of_box(piece, box)}] = {
          share.tensors.size(), &box};
    }
    share.tensors.push_back({piece.kind, piece.name, piece.value.dtype(), piece.shape, {}});
  }
  for (const Of of : {Of::model, Of::optimizer}) {
    const bool of_model = of == Of::model;
    const std::size_t file = share.files.size();
    share.files.push_back(write_tensors(
        storage, draft.folder, file_name(of_model ? "model" : "optimizer", draft, writer),
        tensors_of(contents.pieces, of), of_model ? model : Metadata{{"kind", contents.optimizer}},
        [&](const TensorEntry& entry, std::uint64_t offset, std::span<const std::byte> bytes) {
          const auto& [tensor, box] = boxes.at({!of_model, entry.name});
          share.tensors[tensor].boxes.push_back({*box, file, offset, checksums_of_blocks(bytes)});
        }));
  }
  return index_text(share);
}

void commit_save(Storage& storage, const Draft& draft, const std::vector<std::string>& shares,
                 const TrainState& state, const SaveOptions& options) {
  check(options);
  const std::string file = within(draft.folder, index_file);
  std::vector<Index> parsed;
  for (const std::string& share : shares) {
    parsed.push_back(parse_index(share, storage.told(file), Covers::share));
  }
  Index index = joined(parsed, storage.told(file));
  index.state = state;
  if (!options.run.empty()) index.state.notes["run"] = options.run;
  for (const ExtraFile& extra : options.files) {
    write_whole(storage, within(draft.folder, extra.name), extra.content);
  }
  try {
    check_files(storage, draft.folder, storage.list(draft.folder), index);
  } catch (const CheckpointError& missing) {
    throw CheckpointError(text(missing.what(),
                               "; ranks that save together need one storage, such "
                               "as a folder that all nodes share"));
  }
  storage.sync(draft.folder);
  write_whole(storage, file, index_text(index));
  remove_replaced(storage, draft.folder, index);
  if (options.keep_last > 0) keep_last(storage, draft.folder, options);
}

void abandon_save(Storage& storage, const Draft& draft) noexcept {
  try {
    if (!is_committed(storage, draft.folder)) return remove_all(storage, draft.folder);
    // The commit that is there may be an earlier one, or this one, which failed behind it.
    const auto index = read_index(storage, draft.folder, Reads::all);
    for (const Stored& one : storage.list(draft.folder)) {
      const bool is_remains = has_tensors(one.name) && !is_used(*index, one.name);
      if (is_remains || one.name.ends_with(".tmp")) {
        storage.remove(within(draft.folder, one.name));
      }
    }
  } catch (const CheckpointError&) {  // the next save clears it away
  }
}

std::string save(Storage& storage, const Contents& contents, const TrainState& state,
                 const SaveOptions& options) {
  check(options);
  const auto alone = comm::make_solo_group();
  save_from_one(*alone, 0, storage, contents, state, options);
  return folder_name(state.step);
}

std::filesystem::path save(const std::filesystem::path& folder, nn::Module& model,
                           const optim::Optimizer& optimizer, const TrainState& state,
                           const SaveOptions& options) {
  FileStorage storage(folder);
  return folder / save(storage, contents_of(model, optimizer), state, options);
}

}  // namespace lockstep::checkpoint
