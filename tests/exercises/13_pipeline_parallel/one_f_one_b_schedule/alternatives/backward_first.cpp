// The form in PyTorch: p−s forward passes, then one backward and one forward in turn.
#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/one_f_one_b_schedule.hpp"

namespace lockstep::pipeline {

std::vector<Action> one_f_one_b(int stage, int stages, int micro_batches) {
  LOCKSTEP_CHECK(stage >= 0 && stage < stages && micro_batches >= 1, "no such stage");
  const int ahead = std::min(stages - stage, micro_batches);
  std::vector<Action> actions;
  for (int j = 0; j < ahead; ++j) actions.push_back({Pass::forward, j});
  for (int j = 0; j < micro_batches; ++j) {
    actions.push_back({Pass::backward, j});
    if (j + ahead < micro_batches) actions.push_back({Pass::forward, j + ahead});
  }
  return actions;
}

}  // namespace lockstep::pipeline
