// The system calls a player may make, as a filter of the kernel. A player computes, talks on one
// socket, prints and runs threads; whatever else it asks for is refused.
#pragma once

#include <string>

namespace lockstep::grader {

// Loads the filter for this process and all it becomes; from then on
//   - calls that a right part needs work; clone() only makes threads,
//   - clone3 is ENOSYS, so that the C library falls back to clone,
//   - calls that no accident makes (ptrace, io_uring, mount, …) and those of another architecture
//     end the process with SIGSYS,
//   - all others are EPERM.
// Returns what went wrong; empty when it is loaded.
std::string load_player_filter();

}  // namespace lockstep::grader
