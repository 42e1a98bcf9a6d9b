// A checkpoint by one writer: one rank, which has all of the state, writes it while the others
// wait, and a rename makes it count. Of everything that a run saves, the writer writes
//   files of tensors   parameters, buffers and the optimizer's state
//   the index          which tensor lies where, and the position of the run: step, epoch, places
//                      taken, seed, loss scale. It is the commit: there is no checkpoint without
//
// A program may be killed between any two calls of the storage. So nothing is ever changed that an
// older checkpoint needs, and what is new counts from one call on: the rename of the index.
//
// Left out: what a model needs that fits on no rank (sharded_checkpoint.hpp), and training while
// the writer writes (async_checkpoint.hpp).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/saved_run.hpp"
#include "engine/comm/process_group.hpp"

namespace lockstep::checkpoint {

// Writes a file whole or not at all. A part: defined in solutions/17_fault_tolerance, as are the
// other two.
//   file     in a folder that is there; an older file of this name may be there
//   Ensures  whenever the program ends or the power fails, and also while this runs, `file` is the
//            older one or the new one, or is not there if it never was. When this returns, the new
//            one outlives a power failure. Beside it, one file may be left of a call that ended
//            early: `file` with ".tmp" behind it, which the next call overwrites, however long it
//            is
//   Throws   CheckpointError when the storage refuses; `file` is then the older one, or the new one
//            where the last call was refused
void write_whole(Storage& storage, const std::string& file, const std::string& content);

// Saves the checkpoint of state.step. Called by every rank.
//   contents  on the writer all of the state; elsewhere it is not looked at
//   state     on the writer, as options: where the run is
//   Ensures   only the writer calls the storage. All that `contents` and `state` say is saved, and
//             committed after every file is on the disk. No rank returns before that
//   Comm      little, when the writer is done: one broadcast of 8 bytes from it is enough, and two
//             collectives of 16 bytes a rank together are the limit
//   Throws    on every rank when the writer fails, and nothing half written is left: on the writer
//             what it threw; elsewhere CheckpointError, which names the writer. CommError when a
//             peer is lost; what was committed stays
void save_from_one(comm::ProcessGroup& group, int writer, Storage& storage,
                   const Contents& contents, const TrainState& state, const SaveOptions& options);

// Loads a rank's part of a run, all of it: parameters, buffers and the optimizer's state.
using Restore = std::function<void(const SavedRun& saved)>;

// Goes on from the last checkpoint. Called by every rank.
//   restore  called once on every rank with the checkpoint, unless there is none
//   Returns  where the run is; nothing when there is no checkpoint
//   Ensures  all ranks load the same checkpoint, whatever is saved or removed meanwhile: rank 0
//            looks which is the last, and the others do not look
//   Comm     a broadcast of 8 bytes from rank 0: the step of the last checkpoint, or -1
//   Throws   what `restore` throws, CheckpointError when the checkpoint is damaged, CommError
std::optional<TrainState> load_for_all(comm::ProcessGroup& group, const Storage& storage,
                                       const Restore& restore);

}  // namespace lockstep::checkpoint
