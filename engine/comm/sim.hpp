// The world group of a rank on the simulated cluster: every operation is a request to the core.
#pragma once

#include <memory>

#include "engine/comm/process_group.hpp"
#include "engine/sim/request.hpp"

namespace lockstep::comm {

// `port` must outlive the group and all groups split from it. native collectives are one priced
// request each.
std::unique_ptr<ProcessGroup> make_sim_group(sim::Port& port, int rank, int size);

}  // namespace lockstep::comm
