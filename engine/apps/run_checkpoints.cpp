#include "engine/apps/run_checkpoints.hpp"

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include "engine/base/bytes.hpp"
#include "engine/base/error.hpp"
#include "engine/checkpoint/agree.hpp"
#include "engine/checkpoint/beginning.hpp"
#include "engine/checkpoint/file_storage.hpp"
#include "engine/checkpoint/finite.hpp"
#include "engine/checkpoint/rank0_checkpoint.hpp"

namespace lockstep::apps {
namespace {

constexpr const char* tokenizer_file = "tokenizer.txt";

std::string told_of_experts(const checkpoint::Metadata& model) {
  const auto experts = model.find("experts");
  return experts == model.end() ? "no experts" : "--experts " + experts->second;
}

void check_same_run(const checkpoint::SavedRun& saved, const Checkpoints& checkpoints,
                    std::int64_t samples) {
  const checkpoint::TrainState& state = saved.state();
  const std::filesystem::path path =
      std::filesystem::path(checkpoints.folder) / checkpoint::folder_name(state.step);
  const checkpoint::Metadata& ours = checkpoints.options.model;
  const checkpoint::Metadata& theirs = saved.weights().metadata();
  if (ours.contains("experts") != theirs.contains("experts")) {
    throw UsageError(text("--resume: the model in ", path.string(), " has ",
                          told_of_experts(theirs), ", but this one has ", told_of_experts(ours),
                          "; pass the values of the first run"));
  }
  for (const auto& [name, mine] : ours) {
    const auto found = theirs.find(name);
    if (found != theirs.end() && found->second == mine) continue;
    throw UsageError(text("--resume: the model in ", path.string(), " has ", name, " ",
                          found == theirs.end() ? "(none)" : found->second, ", but this one has ",
                          mine, "; pass the values of the first run"));
  }
  for (const auto& [name, mine] : checkpoints.notes) {
    const auto found = state.notes.find(name);
    if (found != state.notes.end() && found->second == mine) continue;
    throw UsageError(text("--resume: the run in ", path.string(), " has ", name, " ",
                          found == state.notes.end() ? "(none)" : found->second,
                          ", but this one has ", mine,
                          "; the samples would differ from those of an uninterrupted run"));
  }
  if (state.taken >= samples) {
    throw UsageError(text("--resume: ", checkpoint::commit_of(path).string(), " says that ",
                          state.taken, " samples of epoch ", state.epoch + 1,
                          " are taken, but the data has ", samples,
                          "; the file was changed: go on from an older checkpoint"));
  }
}

// A folder as if it had no checkpoint but the one that was chosen.
class OneCheckpoint final : public checkpoint::FileStorage {
 public:
  OneCheckpoint(const std::string& folder, std::string name)
      : FileStorage(folder), name_(std::move(name)) {}
  std::vector<checkpoint::Stored> list(const std::string& folder) const override {
    auto all = FileStorage::list(folder);
    if (folder.empty()) std::erase_if(all, [&](const auto& one) { return one.name != name_; });
    return all;
  }

 private:
  std::string name_;
};

}  // namespace

Checkpoints make_checkpoints(const Arguments& arguments, const nn::ModelSpec& spec,
                             const Datasets& datasets, std::uint64_t seed) {
  Checkpoints checkpoints{arguments.get("checkpoint"), {}, {}};
  checkpoints.options.model = nn::metadata_of(spec);
  checkpoints.options.keep_last = 2;
  if (arguments.has("--save sharded")) checkpoints.form = train::SaveForm::sharded;
  checkpoints.notes = {{"--seed", text(seed)},
                       {"--data", datasets.name},
                       {"samples in the data", text(datasets.train->size())}};
  if (datasets.tokenizer) {
    const std::string description = datasets.tokenizer->description();
    checkpoints.options.files = {{tokenizer_file, description}};
    checkpoints.notes["a tokenizer of checksum"] =
        text(checksum_of(std::as_bytes(std::span(description))));
  }
  return checkpoints;
}

checkpoint::TrainState resume(comm::ProcessGroup& world, const Checkpoints& checkpoints,
                              train::Strategy& strategy, const std::string& from,
                              std::int64_t samples) {
  const OneCheckpoint storage(checkpoints.folder, from);
  std::optional<checkpoint::TrainState> state;
  const std::filesystem::path path = std::filesystem::path(checkpoints.folder) / from;
  try {
    checkpoint::telling(world, "loading " + path.string(), [&] {
      state = checkpoint::load_for_all(world, storage, [&](const checkpoint::SavedRun& saved) {
        check_same_run(saved, checkpoints, samples);
        if (strategy.position().role != train::Role::stand_by) strategy.restore(saved);
      });
    });
  } catch (const checkpoint::CheckpointError& error) {
    const std::string advice = checkpoint::told_if_damaged(path);
    if (advice.empty()) throw UsageError(text("--resume: ", error.what()));
    throw checkpoint::CheckpointError(text("--resume: ", error.what(), ". ", advice));
  }
  if (!state) throw Error("--resume: the checkpoint is gone from " + checkpoints.folder);
  if (strategy.position().role != train::Role::train) return *state;
  try {
    train::check_finite(strategy.trainers(), strategy.pieces());
  } catch (const train::NotFinite& found) {
    throw Error(checkpoint::told_of_broken(checkpoints.folder, state->step, found.what()));
  }
  return *state;
}

void check_shared_folder(comm::ProcessGroup& world, const Checkpoints& checkpoints,
                         const checkpoint::JobLock* lock) {
  world.barrier();  // the lock is there
  const auto said = checkpoint::gather_texts(
      world, (lock != nullptr ? "+" : "-") + checkpoint::job_in(checkpoints.folder));
  const auto writer = std::ranges::find_if(said, [](const auto& one) { return one[0] == '+'; });
  for (std::size_t rank = 0; writer != said.end() && rank < said.size(); ++rank) {
    if (said[rank].substr(1) == writer->substr(1)) continue;
    const bool sharded = checkpoints.form == train::SaveForm::sharded;
    throw UsageError(text(sharded ? "--save sharded" : "--checkpoint", ": rank ",
                          writer - said.begin(), " has made ",
                          (std::filesystem::path(checkpoints.folder) / ".job").string(),
                          ", and rank ", rank, " does not see it: do the ranks share that folder? ",
                          sharded ? "Each writes a share there: pass one that all of them see, or "
                                    "--save dense, by which one rank writes"
                                  : "Each reads there after a restart: pass one that all of them "
                                    "see, or leave out --max-restarts"));
  }
}

std::string told_on_resume(const checkpoint::TrainState& state, std::int64_t samples,
                           const std::string& global_batch, const std::string& changes) {
  std::string line = text("continues at step ", state.step, ": ", state.taken, " of the ", samples,
                          " samples of epoch ", state.epoch + 1, " are taken");
  const auto before = state.notes.find(global_batch_note);
  if (before != state.notes.end() && before->second != global_batch) {
    line +=
        text("; a global batch has ", global_batch, " samples now, ", before->second, " before");
  }
  line += changes.empty() ? "" : "\nsince that checkpoint, " + changes;
  return line + "\n";
}

}  // namespace lockstep::apps
