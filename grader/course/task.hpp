// The task of an exercise: exercises/NN_lesson/part.md, whose text ends where the first heading
// "## Hint …" begins. "## Hint 1: …" to 3 are the rungs, each closer to the code than the one
// before: the concept, the strategy, the pseudo-code. "## Hint for tail_lost: …", which some tasks
// have, is for those whose last check failed for that cause; several causes have commas between.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::grader {

struct CauseHint {
  std::vector<std::string> causes;
  std::string text;  // with its heading
};

struct Task {
  std::string text;                // up to the first hint
  std::vector<std::string> hints;  // each with its heading
  std::vector<CauseHint> for_causes;

  // The hint for that cause; nullptr when there is none.
  const CauseHint* hint_for(const std::string& cause) const;
};

// "wrong answer" → "wrong_answer": a verdict as a cause is written.
std::string cause_named(std::string_view verdict);

//   Throws  UsageError when the file is missing
Task read_task(const std::filesystem::path& file);

}  // namespace lockstep::grader
