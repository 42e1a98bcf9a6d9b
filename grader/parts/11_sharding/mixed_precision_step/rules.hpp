// The rules of mixed_precision_step: what its ranks have after each step, and what that costs.
#pragma once

#include "grader/exam/ranks/checks.hpp"
#include "grader/parts/11_sharding/mixed_precision_step/oracle.hpp"

namespace lockstep::grader::mixed_precision_step {

using MixedContract = RanksContract<MixedProblem, MixedCase, MixedReport, BackwardService>;
const MixedContract& contract();

// Looks at what travelled in a case whose results are right.
void check_cost(CaseRunner& runner, const Played& played, const MixedProblem& problem);

}  // namespace lockstep::grader::mixed_precision_step
