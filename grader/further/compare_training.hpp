// ./lab compare for a part that training calls: what a step of a simulated training run costs with
// the student's part, with the reference, and in another way, as the part's manifest says.
#pragma once

#include "engine/base/options.hpp"
#include "grader/lab/lab.hpp"

namespace lockstep::grader {

//   Requires  the manifest has a run to compare (CalledBy::compare)
//   Throws    UsageError when the part is not written or does not compile
Exit compare_training(const Lab& lab, const Exercise& part, const Arguments& arguments);

}  // namespace lockstep::grader
