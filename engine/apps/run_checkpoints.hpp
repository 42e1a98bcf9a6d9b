// The checkpoints of a run of lab train: what stands in each besides the tensors, and how a run
// goes on from the latest.
#pragma once

#include <string>

#include "engine/apps/train_options.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/job_lock.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/train/save.hpp"
#include "engine/train/strategy.hpp"

namespace lockstep::apps {

constexpr const char* global_batch_note = "global batch";  // of a checkpoint; it may change

struct Checkpoints {
  std::string folder;
  checkpoint::SaveOptions options;
  checkpoint::Metadata notes;  // what must be the same when a run goes on
  train::SaveForm form = train::SaveForm::dense;
};

// The notes are what an epoch's order of samples follows from. Batch and ranks may be others when a
// run goes on: it goes on from a place in that order.
Checkpoints make_checkpoints(const Arguments& arguments, const nn::ModelSpec& spec,
                             const Datasets& datasets, std::uint64_t seed);

// Goes on from a checkpoint, and returns what it says. Every rank of the world calls it, and reads
// it itself, as far as it trains or serves.
//   world    of all ranks
//   from     its name
//   samples  of the training data
//   Comm     as load_for_all (checkpoint/rank0_checkpoint.hpp), and as Strategy::restore
//   Throws   UsageError when the checkpoint is of another model, or of another order of samples;
//            Error when a tensor in it is not finite, as older versions saved them
checkpoint::TrainState resume(comm::ProcessGroup& world, const Checkpoints& checkpoints,
                              train::Strategy& strategy, const std::string& from,
                              std::int64_t samples);

// Checks before the first step that every rank sees the folder, in which each writes its share, or
// reads when the launcher has restarted the run.
//   lock    of the rank that has put it there; null on the others
//   Comm    a barrier, and a text of each rank
//   Throws  UsageError on every rank, with one that does not see the lock
void check_shared_folder(comm::ProcessGroup& world, const Checkpoints& checkpoints,
                         const checkpoint::JobLock* lock);

// "continues at step 150: 9600 of the 20000 samples of epoch 1 are taken", and what has changed
std::string told_on_resume(const checkpoint::TrainState& state, std::int64_t samples,
                           const std::string& global_batch, const std::string& changes);

}  // namespace lockstep::apps
