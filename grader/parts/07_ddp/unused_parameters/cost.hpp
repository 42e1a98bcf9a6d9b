// Checks the cost of a pass with unused parameters: the buckets of its plan and one small
// all-reduce, the first of its collectives, for which nothing waits before backward is over. The
// file also translates what the core found into these words.
#pragma once

#include "grader/judge/case_runner.hpp"
#include "grader/parts/07_ddp/unused_parameters/oracle.hpp"

namespace lockstep::grader::unused_parameters {

void check_cost(CaseRunner& runner, const Played& played, const UnusedProblem& problem);

// Which of the two kinds a collective is that the ranks disagree about.
void explain_found(Failure& found, const UnusedProblem& problem);

}  // namespace lockstep::grader::unused_parameters
