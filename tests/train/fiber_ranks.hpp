// Ranks of a training as fibers of the test, with numbers: a run is a function of its program.
#pragma once

#include <functional>

#include "engine/comm/process_group.hpp"

namespace lockstep::test {

// Runs `body` once per rank; throws Error with what went wrong first.
void on_fibers(int ranks, const std::function<void(comm::ProcessGroup&)>& body);

}  // namespace lockstep::test
