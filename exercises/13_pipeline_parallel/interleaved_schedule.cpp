// Task: list what a stage does in a step under interleaved 1F1B. Forward passes run through the
// stage's chunks in groups of as many micro-batches as there are stages, and backward passes run
// through the chunks from the last to the first. The contract is in
// engine/parallel/pipeline/interleaved_schedule.hpp.
#include "engine/parallel/pipeline/interleaved_schedule.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace lockstep::pipeline {

std::vector<Action> interleaved(int stage, int stages, int chunks, int micro_batches) {
  LOCKSTEP_CHECK(stage >= 0 && stage < stages, "interleaved: stage ", stage, " of ", stages,
                 "; stages count from 0");
  LOCKSTEP_CHECK(chunks >= 1, "interleaved: ", chunks, " chunks; a stage has at least one");
  LOCKSTEP_CHECK(micro_batches >= 1 && micro_batches % stages == 0, "interleaved: ", micro_batches,
                 " micro-batches on ", stages, " stages; use a multiple of the stages");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)stage, (void)stages, (void)chunks, (void)micro_batches;
  throw NotImplemented("interleaved_schedule");
  // <<< your code
}

}  // namespace lockstep::pipeline
