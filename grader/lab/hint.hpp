// Which hint comes next: the one for what the last check said, then the rungs in their order.
#pragma once

#include <string>

#include "grader/course/progress.hpp"
#include "grader/course/task.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

struct ShownHint {
  // "1", "2", "3", or the failure that it is for; empty: every hint has been shown
  std::string rung;
  std::string words;  // Markdown
};

// A pure function of what the student was told so far. A failure's hint comes first, once for each
// failure: the task's own for its cause or, where it has none, the one of `common`. A verdict
// ("deadlock") serves where there is none for the cause. Behind the last rung the last one is shown
// again. A file that does not compile has hints about C++, which use up none of the task's.
ShownHint next_hint(const Task& task, const Task& common, const Exercise& exercise,
                    const Standing& standing);

// The next hint of an exercise, noted as shown.
std::string take_hint(const Lab& lab, const Exercise& exercise);

}  // namespace lockstep::grader
