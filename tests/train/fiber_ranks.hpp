// Ranks of a training as fibers of the test, with numbers: a run is a function of its program.
#pragma once

#include <functional>

#include "engine/comm/process_group.hpp"
#include "engine/strand/strand.hpp"

namespace lockstep::test {

// Runs `body` once per rank; throws Error with what went wrong first.
void on_fibers(int ranks, const std::function<void(comm::ProcessGroup&)>& body);
// The same for bodies that start strands.
void on_fibers_with_strands(int ranks,
                            const std::function<void(comm::ProcessGroup&, Strands&)>& body);

}  // namespace lockstep::test
