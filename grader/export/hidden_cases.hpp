// A report as a student may read it while others still hand in: without the cases that are hidden.
// Pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace lockstep::grader {

enum class Cases : unsigned char { hidden, shown };

// The report of a student (StudentReports) without seeds, numbers of cases, their descriptions and
// what was expected there. A sentence about a wrong answer keeps its cause, and each number in it
// that the check expected becomes "…". A failing check gets "at_home": the command that runs the
// same checks with other cases.
nlohmann::json without_cases(nlohmann::json report);

}  // namespace lockstep::grader
