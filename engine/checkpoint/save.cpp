// Saving: all files, and then one rename.
#include <algorithm>
#include <charconv>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/file_storage.hpp"
#include "engine/checkpoint/index.hpp"
#include "engine/checkpoint/mark.hpp"
#include "engine/checkpoint/rank0_checkpoint.hpp"
#include "engine/checkpoint/read_index.hpp"
#include "engine/checkpoint/remains.hpp"
#include "engine/checkpoint/safetensors.hpp"
#include "engine/comm/solo_group.hpp"

namespace lockstep::checkpoint {
namespace {

constexpr const char* prefix = "step_";

// `rank`: of several writers, as a mark may name it, too; empty of one.
std::string file_name(const char* stem, const Draft& draft, const std::string& rank) {
  return text(stem, rank.empty() ? "" : "-rank", rank,
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
                       !name.ends_with(".tmp") && name != index_file && name != state_file &&
                       !is_mark_name(name),
                   "checkpoint: a file cannot be added under the name ", quoted(name),
                   "; it needs a plain name that no other file of a checkpoint has");
  }
}

// All files of a save, as its mark names them.
std::vector<std::string> files_of(const Draft& draft, const SaveOptions& options, int writers) {
  std::vector<std::string> files{index_file, index_file + std::string(".tmp")};
  for (const ExtraFile& extra : options.files) {
    files.insert(files.end(), {extra.name, extra.name + ".tmp"});
  }
  std::vector<std::string> ranks;
  if (writers <= 1) ranks.emplace_back();
  if (writers <= 0) ranks.emplace_back("*");
  for (int rank = 0; writers > 1 && rank < writers; ++rank) ranks.push_back(text(rank));
  for (const std::string& rank : ranks) {
    for (const char* stem : {"model", "optimizer"}) files.push_back(file_name(stem, draft, rank));
  }
  return files;
}

// Refuses a folder in which a file of the save would replace one that is somebody else's.
void check_free(const Storage& storage, const std::string& folder, const std::vector<Stored>& names,
                const std::vector<std::string>& files) {
  for (const Stored& one : names) {
    if (std::ranges::find(files, one.name) == files.end()) continue;
    throw CheckpointError(text(storage.told(within(folder, one.name)),
                               " is in the way: no save wrote it, and this one would replace it; "
                               "move it, or save to another folder"));
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

bool is_used(const Index& index, const std::string& file) {
  return std::ranges::find(index.files, file, &IndexedFile::name) != index.files.end();
}

// Removes files of earlier saves that the commit has replaced.
void remove_replaced(Storage& storage, const Draft& draft, const Index& index,
                     const SaveOptions& options) {
  const auto names = storage.list(draft.folder);
  const Written written = written_in(storage, draft.folder, names, By::marks);
  for (const Stored& one : names) {
    const bool stays =
        one.name == index_file || is_used(index, one.name) ||
        std::ranges::find(options.files, one.name, &ExtraFile::name) != options.files.end();
    if (!stays && written.has(one)) storage.remove(within(draft.folder, one.name));
  }
  for (const std::string& mark : written.marks) {
    if (mark != mark_name(draft.again)) storage.remove(within(draft.folder, mark));
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

Draft begin_save(Storage& storage, std::int64_t step, const SaveOptions& options, int writers) {
  LOCKSTEP_CHECK(step >= 0, "checkpoint: step ", step, "; steps count from 0");
  storage.make("");
  Draft draft{folder_name(step)};
  clear_remains(storage, draft.folder, options.tell);
  const auto names = storage.list(draft.folder);
  for (const Stored& one : names) {
    if (!has_tensors(one.name) && !is_mark_name(one.name)) continue;
    draft.again = std::max(draft.again, 1 + again_of(one.name));
  }
  SaveMark mark{options.run, files_of(draft, options, writers)};
  // The mark names what the commit is going to replace, which no index names from then on.
  const Written older = written_in(storage, draft.folder, names, By::marks_and_index);
  if (!older.by_a_save()) check_free(storage, draft.folder, names, mark.files);
  mark.files.insert(mark.files.end(), older.files.begin(), older.files.end());
  const std::string file = within(draft.folder, mark_name(draft.again)), content = mark_text(mark);
  storage.make(draft.folder);
  storage.sync("");
  try {
    storage.write(file, 0, std::as_bytes(std::span(content)));
    storage.sync(file);
    storage.sync(draft.folder);
  } catch (const CheckpointError&) {
    abandon_save(storage, draft);
    throw;
  }
  return draft;
}

std::string write_share(Storage& storage, const Draft& draft, Writer writer,
                        const Contents& contents, const Metadata& model) {
  const std::string rank = writer.of > 1 ? text(writer.rank) : std::string();
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
        storage, draft.folder, file_name(of_model ? "model" : "optimizer", draft, rank),
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
  remove_replaced(storage, draft, index, options);
  if (options.keep_last > 0) keep_last(storage, draft.folder, options);
}

void abandon_save(Storage& storage, const Draft& draft) noexcept {
  try {
    auto names = storage.list(draft.folder);
    const std::string mark = mark_name(draft.again);
    std::erase_if(names, [&](const Stored& one) {
      return is_mark_name(one.name) && one.name != mark;  // of other saves
    });
    const Written written = written_in(storage, draft.folder, names, By::marks);
    if (!is_committed(storage, draft.folder)) {
      remove_written(storage, draft.folder, written);
      return;
    }
    // The commit that is there may be an earlier one, or this one, which failed behind it.
    const auto index = read_index(storage, draft.folder, Reads::all);
    for (const Stored& one : names) {
      const bool goes = has_tensors(one.name) || one.name.ends_with(".tmp");
      if (!goes || !written.has(one) || is_used(*index, one.name)) continue;
      storage.remove(within(draft.folder, one.name));
    }
    const bool counts = again_of(index->files.front().name) == draft.again;
    if (!counts && !written.marks.empty()) storage.remove(within(draft.folder, mark));
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
