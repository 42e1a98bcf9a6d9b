// The situations that an exam asks, beside its battery (judge/situation.hpp): each is asked, or
// excepted with a reason by the manifest, and never both.
#pragma once

#include <string>
#include <vector>

#include "grader/course/manifest.hpp"
#include "grader/dev/kill_matrix.hpp"
#include "grader/judge/judge.hpp"

namespace lockstep::grader {

// The cases of each situation that the exam of a report played.
SituationCounts situations_asked(const Report& report);

//   report   of the reference, all checks of which were run
//   Returns  a sentence for each situation that is neither asked nor excepted, or that is both, and
//            for each exception that names no situation of the battery or gives no reason
std::vector<std::string> holes_of_battery(const Exercise& exercise, const Report& report);

// Those that are asked, then those that the manifest excepts.
std::vector<SituationRow> situation_rows(const Exercise& exercise, const Report& report);

}  // namespace lockstep::grader
