// Training on simulated ranks, all of them fibers of this process.
#pragma once

#include "engine/apps/train_options.hpp"

namespace lockstep::apps {

// Trains on `ranks` ranks of the cluster that the arguments name, and says at the end what the
// steps cost there: virtual time, communication, memory.
//   Returns  the program's exit code
//   Throws   what the first rank to fail threw; Error with the simulator's finding
int train_simulated(const Arguments& arguments, int ranks);

}  // namespace lockstep::apps
