// Translates what the core found in a case of bucketed_reducer into the words of the exercise: the
// bucket, the pass, and the gradients of it that had come.
#pragma once

#include <vector>

#include "engine/collectives/bucket.hpp"
#include "grader/exam/driven/script.hpp"
#include "grader/exam/ranks/members.hpp"
#include "grader/judge/case_runner.hpp"

namespace lockstep::grader::bucketed_reducer {

//   plans  of the first reducer, and of each that is made anew
void explain_found(Failure& found, const DrivenScript& script, const Members& members,
                   const std::vector<collectives::BucketPlan>& plans, const ScriptService& events);

}  // namespace lockstep::grader::bucketed_reducer
