// GPipe's schedule: all forward passes, then all backward passes.
//   p stages, s this one; m micro-batches; tF, tB the time of a pass on one stage
#pragma once

#include <vector>

#include "engine/parallel/pipeline/action.hpp"

namespace lockstep::pipeline {

// Lists the passes of stage `stage` in a step, in order.
//   Ensures   each micro-batch has one forward and one backward pass, on chunk 0; with several
//             stages, every forward pass comes before every backward pass; together, the plans of
//             all stages can be executed
//   Time      (m+p−1)(tF+tB) when all stages take the same and messages take no time
//   Memory    the activations of m micro-batches
//   Throws    ContractError for a stage that is not 0 .. p−1, and for less than one micro-batch
//   Source    [HCB19] §2.2, figure 2c
std::vector<Action> gpipe(int stage, int stages, int micro_batches);

}  // namespace lockstep::pipeline
