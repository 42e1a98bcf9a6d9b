// An order that only has to be the same on all stages: odd micro-batches first, in both directions.
#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/gpipe_schedule.hpp"

namespace lockstep::pipeline {

std::vector<Action> gpipe(int stage, int stages, int micro_batches) {
  if (stage < 0 || stage >= stages) throw ContractError("gpipe: no such stage");
  if (micro_batches <= 0) throw ContractError("gpipe: no micro-batch");
  std::vector<Action> actions;
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    for (int j = 1; j < micro_batches; j += 2) actions.push_back({pass, j});
    for (int j = 0; j < micro_batches; j += 2) actions.push_back({pass, j});
  }
  return actions;
}

}  // namespace lockstep::pipeline
