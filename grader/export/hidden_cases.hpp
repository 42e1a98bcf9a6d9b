// A report as a student may read it while others still hand in: without the cases that are hidden.
// Pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace lockstep::grader {

enum class Cases : unsigned char { hidden, shown };

// The report of a student (StudentReports) without seeds, numbers of cases, their descriptions and
// what was expected there. Each number of a sentence becomes "…", apart from names of ranks and
// places in files; a likely cause loses those of the case alone. A failing check gets "at_home":
// the command that runs the same checks with other cases. A quiz tells how many questions have an
// answer, and gets "shown": when a platform that can wait (Gradescope) may show its points.
nlohmann::json without_cases(nlohmann::json report);

}  // namespace lockstep::grader
