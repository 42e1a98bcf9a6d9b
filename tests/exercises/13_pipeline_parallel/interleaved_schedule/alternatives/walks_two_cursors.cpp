// Two cursors over (group, chunk, micro-batch) that step on by themselves; a stage ahead of its
// bound goes back, and otherwise forward.
#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/interleaved_schedule.hpp"

namespace lockstep::pipeline {

namespace {

struct Cursor {
  int stages, chunks;
  int group = 0, chunk = 0, place = 0;

  void step() {
    if (++place < stages) return;
    place = 0;
    if (++chunk < chunks) return;
    chunk = 0;
    ++group;
  }
  int micro_batch() const { return group * stages + place; }
};

}  // namespace

std::vector<Action> interleaved(int stage, int stages, int chunks, int micro_batches) {
  if (stage < 0 || stage >= stages || chunks < 1) throw ContractError("no such stage or chunk");
  if (micro_batches < 1 || micro_batches % stages != 0) throw ContractError("no whole groups");
  const int most = stages * chunks + stages - 1 - 2 * stage;
  Cursor forward{stages, chunks}, backward{stages, chunks};
  std::vector<Action> actions;
  int in_flight = 0;
  while (backward.micro_batch() < micro_batches) {
    if (in_flight < most && forward.micro_batch() < micro_batches) {
      actions.push_back({Pass::forward, forward.micro_batch(), forward.chunk});
      forward.step();
      ++in_flight;
    } else {
      actions.push_back({Pass::backward, backward.micro_batch(), chunks - 1 - backward.chunk});
      backward.step();
      --in_flight;
    }
  }
  return actions;
}

}  // namespace lockstep::pipeline
