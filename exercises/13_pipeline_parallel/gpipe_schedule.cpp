// Task: list what a stage does in a step under GPipe: all forward passes, then all backward passes.
// The contract is in engine/parallel/pipeline/gpipe_schedule.hpp.
#include "engine/parallel/pipeline/gpipe_schedule.hpp"

#include "engine/base/error.hpp"

namespace lockstep::pipeline {

std::vector<Action> gpipe(int stage, int stages, int micro_batches) {
  LOCKSTEP_CHECK(stage >= 0 && stage < stages, "gpipe: stage ", stage, " of ", stages,
                 "; stages count from 0");
  LOCKSTEP_CHECK(micro_batches >= 1, "gpipe: ", micro_batches, " micro-batches; use at least one");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)stage, (void)stages, (void)micro_batches;
  throw NotImplemented("gpipe_schedule");
  // <<< your code
}

}  // namespace lockstep::pipeline
