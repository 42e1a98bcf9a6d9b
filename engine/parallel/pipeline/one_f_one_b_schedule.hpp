// 1F1B: one forward, one backward. It takes as long as GPipe, and keeps fewer activations.
//   p stages, s this one; m micro-batches; tF, tB the time of a pass on one stage
//
// A backward pass frees what its forward pass kept. So a stage starts no more forward passes than
// it needs to stay busy until the first gradient is back, and then takes one backward pass for each
// forward pass.
#pragma once

#include <vector>

#include "engine/parallel/pipeline/action.hpp"

namespace lockstep::pipeline {

// Lists the passes of stage `stage` in a step, in order.
//   Ensures   each micro-batch has one forward and one backward pass, on chunk 0; together, the
//             plans of all stages can be executed
//   Time      (m+p−1)(tF+tB) when all stages take the same and messages take no time
//   Memory    the activations of at most min(p−s, m) micro-batches at any time
//   Throws    ContractError for a stage that is not 0 .. p−1, and for less than one micro-batch
//   Source    [NHP19] §3.2, with a flush after each step: [NSC21] §2.2.1
std::vector<Action> one_f_one_b(int stage, int stages, int micro_batches);

}  // namespace lockstep::pipeline
