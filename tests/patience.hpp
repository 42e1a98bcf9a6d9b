// How long a test waits for a program that it started: as long as the program works, however slow
// or busy the machine is. A program that hangs is ended after five minutes in which it did nothing,
// and one that never ends after half an hour of processor time.
#pragma once

#include "grader/course/compile/command.hpp"

namespace lockstep::test {

inline constexpr grader::CommandLimits patient{.deadline_s = 300, .work_s = 1800};

}  // namespace lockstep::test
