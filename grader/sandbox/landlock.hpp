// Landlock, where there are no namespaces: a process gives up the file system.
#pragma once

#include <string>
#include <vector>

namespace lockstep::grader {

// From now on this process and all it becomes can open and run what lies at or below `reads`, do
// anything below `writes`, and nothing else. Returns what went wrong; empty when it holds.
std::string restrict_files(const std::vector<std::string>& reads,
                           const std::vector<std::string>& writes);

// The version of Landlock's rules that the kernel knows; 0: none.
int landlock_version();

}  // namespace lockstep::grader
