// Which checkpoints there are, and what is kept of them; loading checks everything before it
// changes anything.
#include "engine/checkpoint/checkpoint.hpp"

#include <algorithm>

#include "engine/checkpoint/file_storage.hpp"
#include "engine/checkpoint/read_index.hpp"
#include "engine/checkpoint/saved_run.hpp"

namespace lockstep::checkpoint {
namespace fs = std::filesystem;

Contents contents_of(nn::Module& model, const optim::Optimizer& optimizer) {
  Contents contents{{}, std::string(optimizer.kind())};
  const auto add = [&](PieceKind kind, const std::string& name, const Tensor& value) {
    contents.pieces.push_back({kind, name, value.shape(), whole_of(value.shape()), value});
  };
  for (const Parameter* one : model.parameters()) add(PieceKind::parameter, one->name, one->value);
  for (const nn::Buffer* one : model.buffers()) add(PieceKind::buffer, one->name, one->value);
  for (const auto& [name, value] : optimizer.state()) add(PieceKind::optimizer_state, name, value);
  return contents;
}

std::vector<std::string> checkpoints_in(const Storage& storage) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  for (const Stored& one : storage.list("")) {
    const auto step = step_of(one.name);
    if (step && one.kind == StoredKind::folder && is_committed(storage, one.name)) {
      found.emplace_back(*step, one.name);
    }
  }
  std::ranges::sort(found);
  std::vector<std::string> names;
  for (auto& [step, name] : found) names.push_back(std::move(name));
  return names;
}

std::vector<fs::path> checkpoints_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const std::string& name : checkpoints_in(FileStorage(folder))) {
    paths.push_back(folder / name);
  }
  return paths;
}

std::optional<std::string> latest_in(const Storage& storage) {
  const auto all = checkpoints_in(storage);
  return all.empty() ? std::nullopt : std::optional(all.back());
}

std::optional<fs::path> latest_in(const fs::path& folder) {
  const auto latest = latest_in(FileStorage(folder));
  return latest ? std::optional(folder / *latest) : std::nullopt;
}

fs::path commit_of(const fs::path& checkpoint) {
  return checkpoint / (fs::exists(checkpoint / index_file) ? index_file : state_file);
}

std::string damage_of(const fs::path& checkpoint) {
  try {
    read_index(FileStorage(checkpoint), "", Reads::all);
    return "";
  } catch (const NewerFormat&) {
    throw;
  } catch (const CheckpointError& damage) {
    return damage.what();
  }
}

std::optional<fs::path> whole_before(const fs::path& checkpoint) {
  const auto step = step_of(checkpoint.filename().string());
  auto older = checkpoints_in((fs::path(".") / checkpoint).parent_path());
  std::erase_if(older, [&](const fs::path& one) {
    return !step || *step_of(one.filename().string()) >= *step;
  });
  for (auto one = older.rbegin(); one != older.rend(); ++one) {
    try {
      if (damage_of(*one).empty()) return checkpoint.parent_path() / one->filename();
    } catch (const NewerFormat&) {  // this program cannot go on from it
    }
  }
  return std::nullopt;
}

Metadata model_metadata(const fs::path& checkpoint) {
  return read_index(FileStorage(checkpoint), "", Reads::model)->model;
}

TrainState load(const fs::path& checkpoint, nn::Module& model, optim::Optimizer& optimizer) {
  const SavedRun saved(checkpoint);
  saved.load(model, optimizer);
  return saved.state();
}

}  // namespace lockstep::checkpoint
