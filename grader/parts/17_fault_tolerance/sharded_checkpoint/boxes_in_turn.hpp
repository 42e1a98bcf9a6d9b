// The second function of sharded_checkpoint: boxes that the judge has, read for a rank.
#pragma once

#include "grader/judge/case_runner.hpp"

namespace lockstep::grader::sharded_checkpoint {

// Each wanted element is read once, in the order that the contract says, and goes to its place.
void boxes_in_turn(CaseRunner& runner);
// An element that no box has, and a `read` that throws.
void boxes_refused(CaseRunner& runner);

}  // namespace lockstep::grader::sharded_checkpoint
