// Saving is a list of files and one rename; loading checks everything before it changes anything.
#include "engine/checkpoint/checkpoint.hpp"

#include <fcntl.h>
#include <stdio.h>  // renameat2

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "engine/base/standard_errors.hpp"
#include "engine/checkpoint/saved_run.hpp"
#include "engine/checkpoint/train_state.hpp"
#include "engine/checkpoint/weights.hpp"

namespace lockstep::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr const char* prefix = "step_";

std::string folder_name(std::int64_t step) {
  const std::string digits = text(step);
  return prefix + std::string(6 - std::min<std::size_t>(6, digits.size()), '0') + digits;
}

// The step of a name that folder_name could have given.
std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data() + 5, name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size() || step < 0) return std::nullopt;
  return folder_name(step) == name ? std::optional(step) : std::nullopt;
}

// std::filesystem says in its own words what failed; this says it in ours.
template <typename Act>
auto with_disk(const Act& act) {
  try {
    return act();
  } catch (const fs::filesystem_error& error) {
    throw CheckpointError(text("checkpoint: ", told_of_file(error)));
  }
}

void check_extra_files(const SaveOptions& options) {
  for (const ExtraFile& file : options.files) {
    LOCKSTEP_CHECK(!file.name.empty() && file.name == fs::path(file.name).filename() &&
                       file.name != "." && file.name != ".." && file.name != model_file &&
                       file.name != optimizer_file && file.name != state_file,
                   "checkpoint: a file cannot be added under the name ", quoted(file.name),
                   "; it needs a plain name that no other file of a checkpoint has");
  }
}

void write_text(const fs::path& file, const std::string& content) {
  NewFile out(file);
  out.write(content);
  out.commit();
}

void write_files(const fs::path& folder, const Contents& contents, const TrainState& state,
                 const SaveOptions& options) {
  write_safetensors(folder / model_file, contents.model, options.model);
  write_safetensors(folder / optimizer_file, contents.optimizer,
                    {{"kind", contents.optimizer_kind}});
  for (const ExtraFile& file : options.files) write_text(folder / file.name, file.content);
  write_text(folder / state_file, train_state_text(state));
}

// put_in_place by plain renames: there is a moment at which nothing is called `target`.
void put_in_place_by_steps(const fs::path& temporary, const fs::path& target) {
  if (!fs::exists(target)) return fs::rename(temporary, target);
  fs::path old = target;
  old += ".old.tmp";
  fs::rename(target, old);
  try {
    fs::rename(temporary, target);
  } catch (...) {
    std::error_code ignored;  // the first failure is the one to tell
    fs::rename(old, target, ignored);
    throw;
  }
  fs::rename(old, temporary);
}

// The folder `temporary` becomes `target`. What was there before, if anything, becomes `temporary`.
void put_in_place(const fs::path& temporary, const fs::path& target) {
  const unsigned flags = fs::exists(target) ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, target.c_str(), flags) == 0) return;
  if (errno == EINVAL || errno == ENOSYS) return put_in_place_by_steps(temporary, target);
  throw CheckpointError(
      text("checkpoint: putting ", target, " in place failed: ", std::strerror(errno)));
}

// Makes a folder and those above it that are missing; the names of all outlive a crash.
void make_folder(const fs::path& folder) {
  std::vector<fs::path> changed;  // each gets the name of a new one
  for (fs::path at = fs::absolute(folder); !fs::exists(at); at = at.parent_path()) {
    changed.push_back(at.parent_path());
  }
  fs::create_directories(folder);
  for (const fs::path& parent : changed) sync_folder(parent);
}

void clear_remains(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    fs::path name = entry.path().filename();
    if (name.extension() != ".tmp") continue;
    name = name.stem();
    if (name.extension() == ".old") name = name.stem();
    if (step_of(name.string())) fs::remove_all(entry.path());
  }
}

void remove_checkpoint(const fs::path& checkpoint) {
  fs::path remains = checkpoint;
  remains += ".tmp";
  fs::rename(checkpoint, remains);
  fs::remove_all(remains);
}

// Keeps `target` and, of the others, those of the most steps: a run that went back to an earlier
// step must not lose what it just saved.
void keep_last(const fs::path& folder, const fs::path& target, int count) {
  auto others = checkpoints_in(folder);
  std::erase(others, target);
  const auto keep = static_cast<std::size_t>(count - 1);
  for (std::size_t i = 0; i + keep < others.size(); ++i) remove_checkpoint(others[i]);
}

}  // namespace

Contents contents_of(nn::Module& model, const optim::Optimizer& optimizer) {
  Contents contents{tensors_of(model), {}, std::string(optimizer.kind())};
  for (auto& [name, value] : optimizer.state()) contents.optimizer.push_back({name, value});
  return contents;
}

fs::path save(const fs::path& folder, nn::Module& model, const optim::Optimizer& optimizer,
              const TrainState& state, const SaveOptions& options) {
  return save(folder, contents_of(model, optimizer), state, options);
}

fs::path save(const fs::path& folder, const Contents& contents, const TrainState& state,
              const SaveOptions& options) {
  LOCKSTEP_CHECK(state.step >= 0, "checkpoint: step ", state.step, "; steps count from 0");
  LOCKSTEP_CHECK(options.keep_last >= 0, "checkpoint: keep ", options.keep_last, "; 0 keeps all");
  check_extra_files(options);
  return with_disk([&] {
    make_folder(folder);
    clear_remains(folder);
    const fs::path target = folder / folder_name(state.step);
    fs::path temporary = target;
    temporary += ".tmp";
    try {
      fs::create_directory(temporary);
      write_files(temporary, contents, state, options);
      put_in_place(temporary, target);
    } catch (...) {
      std::error_code ignored;  // the first failure is the one to tell
      fs::remove_all(temporary, ignored);
      throw;
    }
    sync_folder(folder);
    fs::remove_all(temporary);  // the one that was replaced
    if (options.keep_last > 0) keep_last(folder, target, options.keep_last);
    return target;
  });
}

std::vector<fs::path> checkpoints_in(const fs::path& folder) {
  return with_disk([&] {
    std::vector<std::pair<std::int64_t, fs::path>> found;
    if (fs::is_directory(folder)) {
      for (const auto& entry : fs::directory_iterator(folder)) {
        const auto step = step_of(entry.path().filename().string());
        if (step && entry.is_directory()) found.emplace_back(*step, entry.path());
      }
    }
    std::ranges::sort(found);
    std::vector<fs::path> paths;
    for (auto& [step, path] : found) paths.push_back(std::move(path));
    return paths;
  });
}

std::optional<fs::path> latest_in(const fs::path& folder) {
  const auto all = checkpoints_in(folder);
  return all.empty() ? std::nullopt : std::optional(all.back());
}

std::string damage_of(const fs::path& checkpoint) {
  try {
    const SavedRun opened(checkpoint);
    return "";
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
    if (damage_of(*one).empty()) return checkpoint.parent_path() / one->filename();
  }
  return std::nullopt;
}

Metadata model_metadata(const fs::path& checkpoint) {
  return SafetensorsFile(checkpoint / model_file).metadata();
}

void load_model(const fs::path& checkpoint, nn::Module& model) {
  load_weights(checkpoint / model_file, model);
}

TrainState load(const fs::path& checkpoint, nn::Module& model, optim::Optimizer& optimizer) {
  const SavedRun saved(checkpoint);
  saved.load(model, optimizer);
  return saved.state();
}

}  // namespace lockstep::checkpoint
