// Files of the repository that a list names by patterns.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::grader {

// The files below `root` that a pattern of `list` matches and none after an exclamation mark does,
// relative and in order. A star matches folders, too; # begins a comment; links and the folders
// build/, work/ and .git/ are never looked at.
//   Throws  UsageError when a pattern matches nothing
std::vector<std::filesystem::path> listed_files(const std::filesystem::path& root,
                                                const std::string& list);

}  // namespace lockstep::grader
