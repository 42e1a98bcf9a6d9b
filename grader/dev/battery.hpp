// Tells whether an exam asks what its battery holds (judge/situation.hpp): each situation is asked,
// or excepted with a reason by the manifest, and never both.
#pragma once

#include <string>
#include <vector>

#include "grader/course/manifest.hpp"
#include "grader/judge/judge.hpp"

namespace lockstep::grader {

// The cases of each situation that the exam of a report played.
SituationCounts situations_asked(const Report& report);

//   report   of the reference, all checks of which were run
//   Returns  a sentence for each situation that is neither asked nor excepted, or that is both, and
//            for each exception that names no situation of the battery or gives no reason
std::vector<std::string> holes_of_battery(const Exercise& exercise, const Report& report);

}  // namespace lockstep::grader
