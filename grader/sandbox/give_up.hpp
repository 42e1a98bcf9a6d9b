// Before a stranger's bytes are parsed: a process gives up everything but its memory and what it
// has open.
#pragma once

#include <cstddef>
#include <string>

namespace lockstep::grader {

// The address space that this process has now. A child begins with its parent's, so a limit of its
// own comes on top: otherwise the hand-ins that the parent holds would count against it.
std::size_t mapped_bytes();

// From now on this process can neither open, run, signal nor connect to anything; it has 1 GiB more
// and 10 s of processor time, and where it was root it is nobody. A parser that a stranger's bytes
// take over can still answer what it likes: who reads the answer checks every length of it. Returns
// what went wrong; empty when it holds.
std::string give_up_everything();

}  // namespace lockstep::grader
