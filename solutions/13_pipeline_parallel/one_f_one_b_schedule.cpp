// Task: list what a stage does in a step under 1F1B: a few forward passes to fill the pipeline,
// then one forward and one backward in turn, then the backward passes that are left. The contract
// is in engine/parallel/pipeline/one_f_one_b_schedule.hpp.
#include "engine/parallel/pipeline/one_f_one_b_schedule.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace lockstep::pipeline {

std::vector<Action> one_f_one_b(int stage, int stages, int micro_batches) {
  LOCKSTEP_CHECK(stage >= 0 && stage < stages, "one_f_one_b: stage ", stage, " of ", stages,
                 "; stages count from 0");
  LOCKSTEP_CHECK(micro_batches >= 1, "one_f_one_b: ", micro_batches,
                 " micro-batches; use at least one");
  // >>> your code
  std::vector<Action> actions;
  actions.reserve(2 * static_cast<std::size_t>(micro_batches));
  const int warm_up = std::min(stages - stage - 1, micro_batches);
  for (int j = 0; j < warm_up; ++j) actions.push_back({Pass::forward, j});
  for (int j = warm_up; j < micro_batches; ++j) {
    actions.push_back({Pass::forward, j});
    actions.push_back({Pass::backward, j - warm_up});
  }
  for (int j = micro_batches - warm_up; j < micro_batches; ++j) {
    actions.push_back({Pass::backward, j});
  }
  return actions;
  // <<< your code
}

}  // namespace lockstep::pipeline
