// Ranks that have a GPU each: which one a rank takes, and what connects them.
#pragma once

#include "engine/apps/computing.hpp"
#include "engine/apps/ranks.hpp"

namespace lockstep::apps {

// This process's, as its launcher says; the first GPU where nobody launched it. Paper models as
// many GPUs as ranks are on this machine, unless PAPER_DEVICES says otherwise.
Seat seat_of_process();

// Throws, before any of them is started, what `ranks` ranks on this machine would throw.
//   Throws  Lacking, with the ways out
void check_gpus(const Arguments& arguments, int ranks);

// True if this program is linked with gpu_ranks.cpp, which connects GPUs; with no_gpu_ranks.cpp, it
// is not.
bool connects_gpus();

// The ranks that a launcher started, or this process alone: `gpu` is this rank's, and outlives what
// is returned. The host's half of the group talks by `transport`, in the world that `joined` is.
//   Requires  connects_gpus()
//   Throws    Lacking where the build has no GPU code; what join_ranks and make_nccl_group do
Ranks join_gpus(Device& gpu, comm::Transport transport = comm::Transport::automatic,
                Joined joined = nullptr, int members = 0);

}  // namespace lockstep::apps
