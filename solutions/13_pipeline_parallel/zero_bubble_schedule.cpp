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
  std::vector<Action> actions;
  int forwards = 0, weight_gradients = 0;
  const auto forward = [&] { actions.push_back({Pass::forward, forwards++}); };
  const auto weight_gradient = [&] {
    actions.push_back({Pass::weight_gradient, weight_gradients++});
  };
  const int warm_up = std::min(stages - stage - 1, micro_batches);
  while (forwards < warm_up) forward();
  for (int j = 0; j < micro_batches; ++j) {
    if (forwards < micro_batches) forward();
    actions.push_back({Pass::input_gradient, j});
    // Stage s is s weight gradients behind: with the p−s micro-batches between their F and their I,
    // that makes p on every stage.
    if (j >= stage) weight_gradient();
  }
  while (weight_gradients < micro_batches) weight_gradient();
  return actions;
  // <<< your code
}

}  // namespace lockstep::pipeline
