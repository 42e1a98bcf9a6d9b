// Landlock, where there are no namespaces: a process gives up the file system.
#pragma once

#include <string>
#include <vector>

namespace lockstep::grader {

// From now on this process and all it becomes can open and run what lies at or below `reads`, do
// anything below `writes`, and nothing else; `program` is a file that is open already and may be
// run, -1: none. Where the kernel knows how, it can neither use TCP nor reach processes outside, by
// signals or abstract sockets. Returns what went wrong; empty when it holds.
std::string restrict_files(const std::vector<std::string>& reads,
                           const std::vector<std::string>& writes, int program = -1);

// The version of Landlock's rules that the kernel knows; 0: none.
int landlock_version();

}  // namespace lockstep::grader
