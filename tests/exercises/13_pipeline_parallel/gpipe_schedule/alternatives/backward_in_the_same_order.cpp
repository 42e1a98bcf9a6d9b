// The backward passes in the order of the forward passes.
#include "engine/parallel/pipeline/gpipe_schedule.hpp"

#include "engine/base/error.hpp"

namespace lockstep::pipeline {

std::vector<Action> gpipe(int stage, int stages, int micro_batches) {
  LOCKSTEP_CHECK(stage >= 0 && stage < stages && micro_batches >= 1, "no such stage");
  std::vector<Action> actions(static_cast<std::size_t>(2 * micro_batches));
  for (int i = 0; i < 2 * micro_batches; ++i) {
    const Pass pass = i < micro_batches ? Pass::forward : Pass::backward;
    actions[static_cast<std::size_t>(i)] = {pass, i % micro_batches};
  }
  return actions;
}

}  // namespace lockstep::pipeline
