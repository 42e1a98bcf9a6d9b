// Processor seconds of a unit: of its worker, and of all that it started, however they ended. A
// player whose sandbox is killed becomes an orphan; its time is lost unless the worker adopts it.
#pragma once

#include <sys/types.h>

#include <sys/resource.h>

namespace lockstep::grader {

// From now on this process is the parent of what its descendants leave behind.
void adopt_orphans();

// Waits until all children of this process are over and reaped, for `seconds_max` at most.
//   Requires  no other thread of this process waits for a child meanwhile
void reap_children(double seconds_max);

double processor_s_of(const rusage& used);
// The processor seconds of all children that were waited for, and of theirs.
double processor_s_of_children();
// The processor seconds of `root` and its present descendants. 0 if /proc does not tell.
double processor_s_of_tree(pid_t root);

}  // namespace lockstep::grader
