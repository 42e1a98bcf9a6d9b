// Wrong on purpose: each micro-batch goes forward and back before the next one starts. No pass is
// missing, so the gradients are right, but only one stage works at a time.
#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/gpipe_schedule.hpp"

namespace lockstep::pipeline {

std::vector<Action> gpipe(int stage, int stages, int micro_batches) {
  LOCKSTEP_CHECK(stage >= 0 && stage < stages && micro_batches >= 1, "gpipe: stage ", stage, " of ",
                 stages, ", ", micro_batches, " micro-batches");
  std::vector<Action> actions;
  for (int j = 0; j < micro_batches; ++j) {
    actions.push_back({Pass::forward, j});
    actions.push_back({Pass::backward, j});
  }
  return actions;
}

}  // namespace lockstep::pipeline
