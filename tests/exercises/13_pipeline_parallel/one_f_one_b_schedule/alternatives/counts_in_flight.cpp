// A stage with room for another micro-batch takes a forward pass, and otherwise a backward pass.
#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/one_f_one_b_schedule.hpp"

namespace lockstep::pipeline {

std::vector<Action> one_f_one_b(int stage, int stages, int micro_batches) {
  LOCKSTEP_CHECK(stage >= 0 && stage < stages, "stage ", stage);
  LOCKSTEP_CHECK(micro_batches >= 1, micro_batches, " micro-batches");
  int forwards = 0, backwards = 0;
  std::vector<Action> actions;
  while (backwards < micro_batches) {
    const bool room = forwards - backwards < stages - stage;
    if (room && forwards < micro_batches) {
      actions.push_back({Pass::forward, forwards++});
    } else {
      actions.push_back({Pass::backward, backwards++});
    }
  }
  return actions;
}

}  // namespace lockstep::pipeline
