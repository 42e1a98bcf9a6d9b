// What the core found in a case of bucketed_reducer, in the words of the exercise: which bucket it
// is, in which pass, and which of its gradients had come.
#pragma once

#include <vector>

#include "grader/exam/driven_script.hpp"
#include "grader/exam/members.hpp"
#include "grader/judge/case_runner.hpp"

namespace lockstep::grader::bucketed_reducer {

//   plans  of the first reducer, and of each that is made anew
void explain_found(Failure& found, const DrivenScript& script, const Members& members,
                   const std::vector<collectives::BucketPlan>& plans, const ScriptService& events);

}  // namespace lockstep::grader::bucketed_reducer
