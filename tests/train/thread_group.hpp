// A group whose ranks are threads of the test: collectives meet at a barrier and reduce in rank
// order. What the training loops have no use for is left out.
#pragma once

#include <functional>

#include "engine/comm/process_group.hpp"

namespace lockstep::test {

// Runs `body` once per rank, each in a thread; rethrows the first exception. A rank that throws
// leaves the barrier, so the others must throw too or be done.
void on_ranks(int ranks, const std::function<void(comm::ProcessGroup&)>& body);

}  // namespace lockstep::test
