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
  std::vector<Action> actions;
  actions.reserve(2 * static_cast<std::size_t>(micro_batches));
  for (int j = 0; j < micro_batches; ++j) actions.push_back({Pass::forward, j});
  // The last micro-batch first: its activations are the freshest.
  for (int j = micro_batches - 1; j >= 0; --j) actions.push_back({Pass::backward, j});
  return actions;
  // <<< your code
}

}  // namespace lockstep::pipeline
