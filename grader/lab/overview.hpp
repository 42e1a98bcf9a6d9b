// Says in words where the student is, and what comes next.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grader/lab/list.hpp"

namespace lockstep::grader {

// "just now", "5 minutes ago", "3 days ago"
std::string ago(std::int64_t seconds);

// A bar for each lesson, the totals, the last verdict and the next exercise: at most 24 lines.
//   now  in seconds since 1970
std::string overview_text(const Lab& lab, const Progress& progress, const std::vector<Row>& rows,
                          const Exercise* next, std::int64_t now);

// One exercise as the next one: why it comes, what should be solved before, and what to type.
std::string next_text(const Lab& lab, const std::vector<Row>& rows, const Exercise& next);

}  // namespace lockstep::grader
