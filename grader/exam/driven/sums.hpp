// The gradients that a driven part leaves after each pass, and what wrong ones tell.
#pragma once

#include "grader/exam/driven/run.hpp"

namespace lockstep::grader {

// After each pass each parameter has the sum of the ranks' shares, the same bits on every rank, in
// the shape and type that it had.
//   awaited  to tell a gradient whose collective never began
void check_sums(CaseRunner& runner, const Played& played, const DrivenRun& run,
                const std::vector<AwaitedCollective>& awaited);

}  // namespace lockstep::grader
