// Interleaved 1F1B: each stage has several chunks of the model, and the pipeline fills v times as
// fast.
//   p stages, s this one; v chunks per stage; m micro-batches; tF, tB the time of a pass over one
//   chunk
//
// Chunk c of stage s is part c·p + s of the model. A micro-batch visits stages 0 .. p−1 with their
// chunks 0, then again with their chunks 1, and so on. A pass over a chunk takes 1/v of the time of
// a pass over a stage, so the pipeline's start and end are v times as short. In return, there are v
// times the messages, and more activations.
#pragma once

#include <vector>

#include "engine/parallel/pipeline/action.hpp"

namespace lockstep::pipeline {

// Lists the passes of stage `stage` in a step, in order.
//   Ensures   each micro-batch has one forward and one backward pass over each of the stage's
//             chunks; together, the plans of all stages can be executed
//   Time      (m·v+p−1)(tF+tB) when all chunks take the same and messages take no time
//   Memory    the activations of at most p·v+p−1 chunks at any time; a chunk counts once for each
//             micro-batch
//   Throws    ContractError for a stage that is not 0 .. p−1, for less than one chunk, and for
//             micro-batches that are not a positive multiple of p
//   Source    [NSC21] §2.2.2
std::vector<Action> interleaved(int stage, int stages, int chunks, int micro_batches);

}  // namespace lockstep::pipeline
