// Compares the cost of a collective over messages with the closed form of its part
// (engine/collectives/cost.hpp).
#pragma once

#include "grader/exam/collective/rules.hpp"

namespace lockstep::grader {

// Notes it on the runner, for the case that was played; nothing for a part without a closed form.
//   Requires  a problem of the whole world with one call
void note_par(CaseRunner& runner, const Played& played, const CollectiveProblem& p);

}  // namespace lockstep::grader
