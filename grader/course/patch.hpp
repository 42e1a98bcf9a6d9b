// A unified diff applied to one text, in memory: mutants are kept as what they change.
#pragma once

#include <string>

namespace lockstep::grader {

// Hunks are found by their old lines, nearest to where the diff says; lines before the first hunk
// are ignored.
//   Throws  UsageError naming the hunk whose old lines are not there
std::string patched(const std::string& original, const std::string& diff);

}  // namespace lockstep::grader
