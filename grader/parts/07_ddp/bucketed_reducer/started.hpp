// Checks the buckets that the hook is given: which, and what each holds.
#pragma once

#include <vector>

#include "grader/exam/driven/run.hpp"
#include "grader/parts/07_ddp/bucketed_reducer/case.hpp"

namespace lockstep::grader::bucketed_reducer {

// Each rank's hook was given the buckets of the plan, whole, in every pass.
//   started  by rank: every bucket of every pass, as the hook was given it
void check_started(CaseRunner& runner, const Played& played, const DrivenRun& run,
                   const collectives::BucketPlan& plan,
                   const std::vector<std::vector<StartedBucket>>& started);

// The share is in a bucket when it starts. Multiplied after the sum, the mean is the same, but a
// sum in float16 may overflow, and a hook that compresses gets other numbers.
void check_elements(CaseRunner& runner, const Played& played, const DrivenRun& run,
                    const collectives::BucketPlan& plan,
                    const std::vector<std::vector<StartedBucket>>& started);

// finalize waited for none of the buckets of an unfinished pass: one may be a bucket that another
// rank never starts.
void require_no_wait(CaseRunner& runner, const Played& played, int rank,
                     const std::vector<std::uint64_t>& waited);

}  // namespace lockstep::grader::bucketed_reducer
