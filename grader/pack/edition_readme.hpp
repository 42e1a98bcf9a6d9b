// The README of the students' edition: the lab's, without the commands that the edition refuses and
// without what points to files that it lacks.
#pragma once

#include <functional>
#include <set>
#include <string>

namespace lockstep::grader {

// The commands that setup/edition.sh refuses: the words of its line refused="…".
//   Throws  UsageError when there is no such line
std::set<std::string> refused_commands(const std::string& edition_sh);

// Leaves out each paragraph, item of a list, row of a table and line of a code block that types a
// refused command or needs code for GPUs (--paper), or that links to a missing file; then the
// tables, code blocks and sections of which nothing is left.
//   has  whether the edition has this file or folder, named from its root
std::string readme_of_edition(const std::string& readme, const std::set<std::string>& refused,
                              const std::function<bool(const std::string&)>& has);

}  // namespace lockstep::grader
