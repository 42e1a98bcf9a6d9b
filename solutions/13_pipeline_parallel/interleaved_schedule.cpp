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
  // Pass i of either direction: in groups of p micro-batches, chunk after chunk.
  const int passes = micro_batches * chunks;
  const auto micro_batch_of = [&](int i) { return i / (stages * chunks) * stages + i % stages; };
  const auto turn_of = [&](int i) { return i % (stages * chunks) / stages; };
  std::vector<Action> actions;
  const auto forward = [&](int i) {
    actions.push_back({Pass::forward, micro_batch_of(i), turn_of(i)});
  };
  const auto backward = [&](int i) {
    actions.push_back({Pass::backward, micro_batch_of(i), chunks - 1 - turn_of(i)});
  };
  // The first gradient comes back when the first group has gone through all chunks but the last,
  // and micro-batch 0 down to the last stage and up again.
  const int warm_up = std::min((chunks - 1) * stages + 2 * (stages - stage - 1), passes);
  for (int i = 0; i < warm_up; ++i) forward(i);
  for (int i = warm_up; i < passes; ++i) {
    forward(i);
    backward(i - warm_up);
  }
  for (int i = passes - warm_up; i < passes; ++i) backward(i);
  return actions;
  // <<< your code
}

}  // namespace lockstep::pipeline
