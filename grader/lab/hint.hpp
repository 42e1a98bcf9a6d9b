// Which hint comes next: the one for what the last check said, then the rungs in their order.
#pragma once

#include <string>

#include "grader/course/progress.hpp"
#include "grader/course/task.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

struct ShownHint {
  std::string rung;   // "1", "2", "3", or "for tail_lost"; empty: every hint has been shown
  std::string words;  // Markdown
};

// A pure function of what the student was told so far. A cause that has a hint comes first, once:
// the task's own or, where it has none, the one of `common`. A verdict ("deadlock") serves where
// there is none for the cause. Behind the last rung the last one is shown again.
ShownHint next_hint(const Task& task, const Task& common, const Exercise& exercise,
                    const Standing& standing);

// The next hint of an exercise, noted as shown.
std::string take_hint(const Lab& lab, const Exercise& exercise);

}  // namespace lockstep::grader
