// Checkpoints: a folder for each, which holds all that a run needs to go on as if it had not
// stopped, bit for bit. One process writes it alone, or several write a share each.
//
//   runs/a/step_000500/model.safetensors        parameters and buffers; how the model is made is
//                                               its metadata, so that this file alone can be used
//   runs/a/step_000500/optimizer.safetensors    its state, under PyTorch's names
//   runs/a/step_000500/index.json               which tensor lies where, where in the data the run
//                                               is, and the seed
//   runs/a/step_000500/mark.json                the names of all these files
//   runs/a/step_000500/…                        what the program adds (a vocabulary)
//
// Writer 2 of several writes model-rank2.safetensors and optimizer-rank2.safetensors, in which a
// tensor is a box of a whole one: "0.weight [4, 0]-[8, 6]".
//
// Invariants
//   1. The index is the commit. It is written last, beside its name, and renamed when all files are
//      on the disk. A folder without one is no checkpoint.
//   2. A save of a step that is there already writes files of other names, such as
//      model-again1.safetensors, and its index replaces the old one at once. Older files go then.
//   3. What is removed loses its index first.
//   4. Nothing is removed or replaced that no save wrote. So a save puts a mark into its folder
//      before any other file, which names them all; the next save removes what a mark names where
//      there is no index. Of a link the link is removed, and nothing is written behind one.
//   So a program may end, and the power fail, at any moment: the last commit is whole, or, while it
//   is being replaced or made, the one before.
//
// Requires one job at a time to write to a storage.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "engine/checkpoint/piece.hpp"
#include "engine/checkpoint/saved_tensors.hpp"
#include "engine/checkpoint/storage.hpp"
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
  // Checkpoints to keep: this one, and of the others that are whole those of the most steps; 0:
  // all.
  int keep_last = 0;
  // Names of those whose elements are known to be damaged, though no file is cut off. They do not
  // count as kept.
  std::vector<std::string> damaged = {};
  std::string run = {};  // the run that saves, as its mark and the note "run" say; empty: unknown
  // Told in a sentence each what a save removes beside its own older checkpoints, and what lies
  // among them and is kept because no save wrote it. It may be called again with the same sentence.
  std::function<void(const std::string&)> tell = {};
};

// The share of one writer in a checkpoint, in the order in which it is written.
struct Contents {
  std::vector<Piece> pieces;
  std::string optimizer;  // its kind
};
Contents contents_of(nn::Module& model, const optim::Optimizer& optimizer);
// The tensors of a file: pieces of the model, or those of the optimizer, each box a tensor. Views.
enum class Of : std::uint8_t { model, optimizer };
std::vector<NamedTensor> tensors_of(const std::vector<Piece>& pieces, Of of);

// Saves the checkpoint of state.step, by one writer that holds all of it.
//   Returns  the name of its folder
//   Throws   CheckpointError when the storage refuses: older checkpoints are then as they were, and
//            nothing half written is left
std::string save(Storage& storage, const Contents& contents, const TrainState& state,
                 const SaveOptions& options = {});
// The same of a model and its optimizer that are here in whole, into a folder, which is made when
// it is not there. Returns the checkpoint's folder.
std::filesystem::path save(const std::filesystem::path& folder, nn::Module& model,
                           const optim::Optimizer& optimizer, const TrainState& state,
                           const SaveOptions& options = {});

// A save in its three steps, for writers that each hold a part: one of them begins, all write, and
// when all have, one of them commits. Whoever calls them orders them so.
struct Draft {
  std::string folder;
  int again = 0;  // how many saves of this step were there before
};
struct Writer {
  int rank = 0, of = 1;
};
// Makes the folder and puts the mark into it, which is then on the disk. Before that, clears away
// what saves have left that were cut off.
//   options  as commit_save is going to have them, for the mark
//   writers  how many there are going to be; 0: unknown, and the mark names files of any rank
//   Throws   CheckpointError, also when the step's folder is a link, or has a file that no save
//            wrote and this one would replace. NewerFormat when a newer version committed this step
Draft begin_save(Storage& storage, std::int64_t step, const SaveOptions& options = {},
                 int writers = 0);
// Writes a writer's files, and brings them to the disk.
//   Returns  what it wrote, as text that commit_save reads
std::string write_share(Storage& storage, const Draft& draft, Writer writer,
                        const Contents& contents, const Metadata& model);
// Commits what the shares say, in their order, and removes what options.keep_last leaves out. Of
// the older checkpoints those count as kept that are whole.
//   Throws  CheckpointError, and nothing is committed, when an element was written by nobody or
//           twice, or when a writer's file is not there: its storage is another one
void commit_save(Storage& storage, const Draft& draft, const std::vector<std::string>& shares,
                 const TrainState& state, const SaveOptions& options);

// Clears away what a save that failed has written, as far as that succeeds.
void abandon_save(Storage& storage, const Draft& draft) noexcept;

// The name of a step's folder: "step_000500".
std::string folder_name(std::int64_t step);
// The step of a name that folder_name could have given.
std::optional<std::int64_t> step_of(const std::string& name);
// The checkpoints in a storage or folder, by step; none when it is not there.
std::vector<std::string> checkpoints_in(const Storage& storage);
std::vector<std::filesystem::path> checkpoints_in(const std::filesystem::path& folder);
std::optional<std::string> latest_in(const Storage& storage);
std::optional<std::filesystem::path> latest_in(const std::filesystem::path& folder);
// The file that commits a checkpoint, and says where the run is.
std::filesystem::path commit_of(const std::filesystem::path& checkpoint);
// Says what is wrong with a checkpoint, as far as its index and the sizes of its files tell; empty
// when it is whole.
//   Throws  NewerFormat when a newer version wrote it: it is not damaged, and no older one takes
//   its
//           place
std::string damage_of(const std::filesystem::path& checkpoint);
// The newest one beside `checkpoint` that is older and whole, for a person who has lost this one.
std::optional<std::filesystem::path> whole_before(const std::filesystem::path& checkpoint);

// How the model of a checkpoint is made: SaveOptions::model.
Metadata model_metadata(const std::filesystem::path& checkpoint);

// Reads all of it. `optimizer` is over the parameters of `model`, with the options of the run.
//   Throws  CheckpointError when the model is not of the checkpoint's names, dtypes and shapes,
//           with the first that differs in the model's order, and when the optimizer is of another
//           kind or its state does not fit; the model is then as it was. A disk that fails in the
//           middle of reading leaves the model half read: make it anew.
TrainState load(const std::filesystem::path& checkpoint, nn::Module& model,
                optim::Optimizer& optimizer);

}  // namespace lockstep::checkpoint
