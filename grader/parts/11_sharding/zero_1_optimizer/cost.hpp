// The price of zero_1_optimizer's steps: bytes that travel, and memory.
#pragma once

#include "grader/exam/ranks/member_memory.hpp"
#include "grader/parts/11_sharding/zero_1_optimizer/oracle.hpp"

namespace lockstep::grader::zero_1_optimizer {

// Two halves of an all-reduce in each step.
void check_bytes(CaseRunner& runner, const Played& played, const Problem& p);

// Looks also at what each member holds when a step is over, and at the most that it held within
// one.
void check_cost(CaseRunner& runner, const Played& played, const Problem& p,
                const MomentService& moments);

}  // namespace lockstep::grader::zero_1_optimizer
