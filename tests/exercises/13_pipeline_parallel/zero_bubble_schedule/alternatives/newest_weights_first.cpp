// Puts weight gradients off in the same way, and takes the newest one when its turn comes.
#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/zero_bubble_schedule.hpp"

namespace lockstep::pipeline {

std::vector<Action> zero_bubble(int stage, int stages, int micro_batches) {
  LOCKSTEP_CHECK(stage >= 0 && stage < stages && micro_batches >= 1, "no such stage");
  std::vector<Action> actions;
  std::vector<int> waiting;  // for their weight gradients
  const auto weight_gradient = [&] {
    actions.push_back({Pass::weight_gradient, waiting.back()});
    waiting.pop_back();
  };
  int next = 0;
  const int warm_up = std::min(stages - stage - 1, micro_batches);
  while (next < warm_up) actions.push_back({Pass::forward, next++});
  for (int j = 0; j < micro_batches; ++j) {
    if (next < micro_batches) actions.push_back({Pass::forward, next++});
    actions.push_back({Pass::input_gradient, j});
    waiting.push_back(j);
    if (std::ssize(waiting) > stage) weight_gradient();
  }
  while (!waiting.empty()) weight_gradient();
  return actions;
}

}  // namespace lockstep::pipeline
