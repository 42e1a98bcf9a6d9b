// How the micro-batches of a step pass through the model: one by one, in their order, and each gone
// before the next.
#pragma once

#include "grader/judge/case_runner.hpp"
#include "grader/parts/07_ddp/gradient_accumulation/oracle.hpp"

namespace lockstep::grader::gradient_accumulation {

void check_passes(CaseRunner& runner, const Played& played, const AccumulationProblem& problem,
                  int rank, const AccumulationReport& report);

}  // namespace lockstep::grader::gradient_accumulation
