// The files that a training run is told of: looked at before the first step, so that no training is
// lost for a name that was wrong, and the same on every rank.
#pragma once

#include "engine/apps/train_options.hpp"
#include "engine/checkpoint/beginning.hpp"
#include "engine/comm/process_group.hpp"
#include "engine/launch/environment.hpp"

namespace lockstep::apps {

// Checks what is written: --export, --trace, --log, --checkpoint.
//   Throws  UsageError that names the option
void check_files(const Arguments& arguments);

// How the run wants to begin, by --checkpoint, --resume and what its launcher says.
checkpoint::Wish wish_of(const Arguments& arguments, const launch::Lookup& lookup);

// Checks that `ranks` processes can all read --data text:FILE: a pipe gives its bytes once, and one
// rank would have all of them or wait for ever.
//   Throws  UsageError when several would read such a file
void check_shared_text(const Arguments& arguments, std::int64_t ranks);

// Compares what the ranks have read: the data and --init. Ranks on
// several machines may see different files behind one name, and would train two models.
//   Comm    an all-gather of 32 bytes a rank; nothing on one rank
//   Throws  UsageError on every rank, with the ranks that differ and what they read
void compare_inputs(const Arguments& arguments, const Datasets& datasets,
                    comm::ProcessGroup& group);

}  // namespace lockstep::apps
