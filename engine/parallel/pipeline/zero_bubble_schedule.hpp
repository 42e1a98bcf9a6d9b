// ZB-H1: 1F1B with the backward pass split in two, so that weight gradients fill the idle
// time at its end.
//   p stages, s this one; m micro-batches; tF, tI, tW the time of a pass on one stage
//
// The stage before waits for the gradient of the input (I). No stage waits for the gradients of the
// weights (W), so W can run when there is nothing else to do. Until then, the activations of its
// forward pass are kept.
#pragma once

#include <vector>

#include "engine/parallel/pipeline/action.hpp"

namespace lockstep::pipeline {

// Lists the passes of stage `stage` in a step, in order.
//   Ensures   each micro-batch has one forward, one input gradient and one weight gradient, on
//             chunk 0; together, the plans of all stages can be executed
//   Time      m(tF+tI+tW) + (p−1)(tF+tI−tW) where m ≥ p and tW ≤ min(tF, tI); 2m+2p−1 where m < p
//             and each pass takes 1; never more than 1F1B's (m+p−1)(tF+tI+tW). All stages take the
//             same, and messages take no time
//   Memory    at most p forward passes whose weight gradient has not run, at any time
//   Throws    ContractError for a stage that is not 0 .. p−1, and for less than one micro-batch
//   Source    [QWHL24] §2.1
std::vector<Action> zero_bubble(int stage, int stages, int micro_batches);

}  // namespace lockstep::pipeline
