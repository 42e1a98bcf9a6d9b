// Checks that joining wastes nothing: a step is one count and one reduction, and the parameters
// travel once.
#pragma once

#include "grader/judge/case_runner.hpp"
#include "grader/parts/07_ddp/join_uneven_inputs/oracle.hpp"

namespace lockstep::grader::join_uneven_inputs {

// Checks the traffic of a case of one epoch.
void check_traffic(CaseRunner& runner, const Played& played, const JoinProblem& p);

// Why end_join found nobody that was last to join.
void explain_found(Failure& found, const JoinProblem& problem);

}  // namespace lockstep::grader::join_uneven_inputs
