// Checkpoints of one process: a folder for each, which holds all that a run needs to go on as if it
// had not stopped, bit for bit.
//
//   runs/a/step_000500/model.safetensors        parameters and buffers; how the model is made is
//                                               its metadata, so that this file alone can be used
//   runs/a/step_000500/optimizer.safetensors    its state, under PyTorch's names; metadata: kind
//   runs/a/step_000500/train.json               where in the data the run is, and the seed
//   runs/a/step_000500/…                        what the program adds (a vocabulary)
//
// Invariants
//   1. A folder named step_<number> is whole: it was written under the name step_<number>.tmp,
//      brought to the disk, and renamed. A crash at any moment leaves all older ones as they were.
//   2. What is removed is renamed to .tmp first; folders of that name are remains, and the next
//      save clears them away.
//   3. One that is replaced changes places with the new one in one call of the system. Where the
//      file system has no such call (NFS), the old one is renamed away and then the new one put in
//      its place: a crash between the two loses that step, and no other.
//
// Requires one process at a time to write to a folder. Left out: checkpoints of many ranks.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "engine/checkpoint/safetensors.hpp"
#include "engine/nn/module.hpp"
#include "engine/optim/loss_scaler.hpp"
#include "engine/optim/optimizer.hpp"

namespace lockstep::checkpoint {

// The position of a run. Its place in the data is counted in samples of an epoch's order, which
// follows from seed and epoch. So a run can go on with another batch or another number of ranks.
// The learning rate follows from the step.
struct TrainState {
  std::int64_t step = 0;   // optimizer steps taken
  std::int64_t epoch = 0;  // epochs that are over
  std::int64_t taken = 0;  // places of the next epoch's order that are taken
  std::uint64_t seed = 0;
  std::optional<optim::LossScalerState> loss_scaler = std::nullopt;
  Metadata notes = {};  // whatever else the program wants to find again
  bool operator==(const TrainState&) const = default;
};

// A file of the program's own, beside the others.
struct ExtraFile {
  std::string name;  // a plain name, without a folder
  std::string content;
};

struct SaveOptions {
  Metadata model = {};  // how to make this model again: what it is, its widths, …
  std::vector<ExtraFile> files = {};
  // Checkpoints to keep: this one, and of the others those of the most steps; 0: all.
  int keep_last = 0;
};

// The contents of a checkpoint, each list in the order in which it is written.
struct Contents {
  std::vector<NamedTensor> model;      // parameters and buffers
  std::vector<NamedTensor> optimizer;  // its state
  std::string optimizer_kind;
};
Contents contents_of(nn::Module& model, const optim::Optimizer& optimizer);

// Writes the checkpoint of state.step into `folder`, which is made when it is not there. One of the
// same step is replaced at once, the old for the new, where the file system can (invariant 3).
//   Returns  the checkpoint's folder
//   Throws   CheckpointError when the disk refuses: older checkpoints are then as they were, and
//            nothing half written is left
std::filesystem::path save(const std::filesystem::path& folder, const Contents& contents,
                           const TrainState& state, const SaveOptions& options = {});
// The same of a model and its optimizer that are here in whole.
std::filesystem::path save(const std::filesystem::path& folder, nn::Module& model,
                           const optim::Optimizer& optimizer, const TrainState& state,
                           const SaveOptions& options = {});

// The checkpoints in `folder`, by step; none when it is not there.
std::vector<std::filesystem::path> checkpoints_in(const std::filesystem::path& folder);
std::optional<std::filesystem::path> latest_in(const std::filesystem::path& folder);
// Says what is wrong with a checkpoint, as far as its headers and sizes tell; empty when it is
// whole.
std::string damage_of(const std::filesystem::path& checkpoint);
// The newest one beside `checkpoint` that is older and whole, for a person who has lost this one.
std::optional<std::filesystem::path> whole_before(const std::filesystem::path& checkpoint);

// How the model of a checkpoint is made: SaveOptions::model.
Metadata model_metadata(const std::filesystem::path& checkpoint);

// Reads parameters and buffers into `model`.
//   Throws  CheckpointError when the model is not of the checkpoint's names, dtypes and shapes,
//           with the first that differs in the model's order; nothing is read then
void load_model(const std::filesystem::path& checkpoint, nn::Module& model);

// Reads all of it. `optimizer` is over the parameters of `model`, with the options of the run.
//   Throws  CheckpointError as load_model, and when the optimizer is of another kind or its state
//           does not fit; the model is then as it was. A disk that fails in the middle of reading
//           leaves the model half read: make it anew.
TrainState load(const std::filesystem::path& checkpoint, nn::Module& model,
                optim::Optimizer& optimizer);

}  // namespace lockstep::checkpoint
