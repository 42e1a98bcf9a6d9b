// p−s forward passes, then input gradient, weight gradient and forward pass in turn.
#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/zero_bubble_schedule.hpp"

namespace lockstep::pipeline {

std::vector<Action> zero_bubble(int stage, int stages, int micro_batches) {
  if (stage < 0 || stage >= stages) throw ContractError("no such stage");
  if (micro_batches <= 0) throw ContractError("nothing to do");
  const int ahead = std::min(stages - stage, micro_batches);
  std::vector<Action> actions;
  for (int j = 0; j < ahead; ++j) actions.push_back({Pass::forward, j});
  for (int turn = 0; turn < micro_batches + stage; ++turn) {
    if (turn < micro_batches) actions.push_back({Pass::input_gradient, turn});
    if (turn >= stage) actions.push_back({Pass::weight_gradient, turn - stage});
    if (turn + ahead < micro_batches) actions.push_back({Pass::forward, turn + ahead});
  }
  return actions;
}

}  // namespace lockstep::pipeline
