// That a driven part communicates while backward computes: which collective began before which
// event was asked for, and what was waited for when. All of it is seen by the judge, in virtual
// time.
#pragma once

#include "grader/exam/driven/run.hpp"

namespace lockstep::grader {

// In each pass, on every rank:
//   a. the collectives were those of the list, in its order, and no other;
//   b. no event but the last was followed by waiting: backward never stood still;
//   c. each collective began before the event after the last one that it needs was asked for;
//   d. finalize returned when backward and the last collective were over, so the pass took as long
//      as these gradients and collectives need: each begins when its gradients are there on all
//      ranks, and the collective before it is over.
// A part that may have one collective in flight ends the one before it first, in b. and c., and
// begins none earlier.
enum class InFlight : std::uint8_t { several, one };
void check_overlap(CaseRunner& runner, const Played& played, const DrivenRun& run,
                   const std::vector<AwaitedCollective>& awaited,
                   InFlight in_flight = InFlight::several);

}  // namespace lockstep::grader
