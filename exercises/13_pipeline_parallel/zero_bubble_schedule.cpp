// Task: list what a stage does in a step under ZB-H1: 1F1B with each backward pass split in two,
// where later stages postpone their weight gradients. The contract is in
// engine/parallel/pipeline/zero_bubble_schedule.hpp.
#include "engine/parallel/pipeline/zero_bubble_schedule.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace lockstep::pipeline {

std::vector<Action> zero_bubble(int stage, int stages, int micro_batches) {
  LOCKSTEP_CHECK(stage >= 0 && stage < stages, "zero_bubble: stage ", stage, " of ", stages,
                 "; stages count from 0");
  LOCKSTEP_CHECK(micro_batches >= 1, "zero_bubble: ", micro_batches,
                 " micro-batches; use at least one");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)stage, (void)stages, (void)micro_batches;
  throw NotImplemented("zero_bubble_schedule");
  // <<< your code
}

}  // namespace lockstep::pipeline
