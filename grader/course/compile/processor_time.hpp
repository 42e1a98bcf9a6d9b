// The processor time that a command's processes have used so far, while they run.
#pragma once

#include <sys/types.h>

namespace lockstep::grader {

// Seconds of `root`, of its living descendants, and of the children that each of these has waited
// for. A process whose parent has ended belongs to another tree and is not counted.
double processor_seconds_of_tree(pid_t root);

}  // namespace lockstep::grader
