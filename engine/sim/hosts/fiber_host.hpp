// Ranks as fibers: all of them in the calling thread, thousands if need be. They share the core's
// address space, so what this host says of a program is for learning and debugging; what is graded
// runs on process_host.hpp.
//
//     Core core(options);
//     const auto result = run_fibers(core, [](FiberRank& self) { … self.port … });
//
// A run is a function of (program, seed): fibers that can go on do so in the order that the core
// gives, and one runs until it blocks. What they share (a variable of the program) needs no lock.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/sim/core/core.hpp"
#include "engine/strand/fiber.hpp"
#include "engine/strand/strand.hpp"

namespace lockstep::sim {

class LastSign;

struct FiberOptions {
  std::size_t stack_bytes = FiberStack::usual_bytes;  // of each strand, taken as it is touched
  // Wall time for which one strand may run without asking for anything.
  double idle_s = 10;
  // Told when it is over, from another thread: a fiber that does not give way cannot be stopped.
  // Without one, the finding goes to stderr and the process ends.
  std::function<void(const Finding&)> on_idle{};
  // Notes which rank runs, for an explanation from outside (child_run.hpp).
  LastSign* last_sign = nullptr;
};

// The arguments of one rank's program.
struct FiberRank {
  Port& port;
  Strands& strands;  // fibers too
  int rank;
  int ranks;
};

struct FiberResult {
  std::optional<Finding> finding;     // what went wrong, the first cause
  std::vector<std::string> failures;  // by rank: what it threw, or empty
};

// Runs the program on every rank until all have returned. When something goes wrong, every strand
// that is blocked is answered with Status::failed and the reason, now and from then on, so that it
// ends; one that has not begun does not. A rank that a fault kills stops where it is, and is
// unwound in this way when all others have ended.
FiberResult run_fibers(Core& core, const std::function<void(FiberRank&)>& program,
                       const FiberOptions& options = {});

}  // namespace lockstep::sim
