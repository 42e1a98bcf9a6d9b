// The task of an exercise: exercises/NN_lesson/part.md, whose text ends where the first heading
// "## Hint 1: …" begins; then three rungs, each closer to the code than the one before.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::grader {

struct Task {
  std::string text;                // up to the first hint
  std::vector<std::string> hints;  // each with its heading
};

//   Throws  UsageError when the file is missing
Task read_task(const std::filesystem::path& file);

}  // namespace lockstep::grader
