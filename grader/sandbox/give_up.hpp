// Before a stranger's bytes are parsed: a process gives up everything but its memory and what it
// has open.
#pragma once

#include <string>

namespace lockstep::grader {

// From now on this process can neither open, run, signal nor connect to anything; it has 1 GiB and
// 10 s of processor time, and where it was root it is nobody. A parser that a stranger's bytes take
// over can still answer what it likes: who reads the answer checks every length of it.
// Returns what went wrong; empty when it holds.
std::string give_up_everything();

}  // namespace lockstep::grader
