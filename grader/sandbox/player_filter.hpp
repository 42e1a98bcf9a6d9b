// The system calls that a player, a compiler and a reader may make, as filters of the kernel. A
// player computes, talks on one socket, prints and runs threads; a reader computes, reads and
// writes; whatever else they ask for is refused.
#pragma once

#include <string>

namespace lockstep::grader {

// Loads the filter for this process and all it becomes; from then on
//   - calls that a right part needs work: of sockets read() and write(), of files none; clone()
//     only makes threads, tgkill() only reaches them, and execveat() only becomes the open file
//     `program`,
//   - clone3 is ENOSYS, so that the C library falls back to clone,
//   - calls that no accident makes (ptrace, io_uring, mount, …) and those of another architecture
//     end the process with SIGSYS,
//   - all others are EPERM.
// Returns what went wrong; empty when it is loaded.
std::string load_player_filter(int program);

// Loads the wider filter of a command that reads a stranger's source: everything works but sockets
// and what no compiler asks for (tracing, namespaces, mounts, modules, keys, …), which is EPERM.
// Returns what went wrong; empty when it is loaded.
std::string load_compiler_filter();

// Loads the filter of a process that reads a stranger's bytes: memory, reading and writing what is
// open already, and its end; all else is EPERM.
// Returns what went wrong; empty when it is loaded.
std::string load_reader_filter();

}  // namespace lockstep::grader
