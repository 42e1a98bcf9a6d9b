// Checks what a bucket holds when the hook is given it: each gradient times the share.
#pragma once

#include <vector>

#include "grader/exam/driven_run.hpp"
#include "grader/parts/07_ddp/bucketed_reducer/case.hpp"

namespace lockstep::grader::bucketed_reducer {

// The share is in a bucket when it starts. Multiplied after the sum, the mean is the same, but a
// sum in float16 may overflow, and a hook that compresses gets other numbers.
//   started  every bucket of every pass, as this rank's hook was given it
void check_elements(CaseRunner& runner, const Played& played, const DrivenRun& run,
                    const collectives::BucketPlan& plan, int rank,
                    const std::vector<StartedBucket>& started);

}  // namespace lockstep::grader::bucketed_reducer
