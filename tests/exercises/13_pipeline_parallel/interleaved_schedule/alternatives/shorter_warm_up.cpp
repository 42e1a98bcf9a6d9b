// A warm-up that is one pass shorter for each stage before this one, instead of two: as long where
// messages take no time, and with fewer activations.
#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/interleaved_schedule.hpp"

namespace lockstep::pipeline {

std::vector<Action> interleaved(int stage, int stages, int chunks, int micro_batches) {
  LOCKSTEP_CHECK(stage >= 0 && stage < stages && chunks >= 1, "no such stage");
  LOCKSTEP_CHECK(micro_batches >= 1 && micro_batches % stages == 0, "no multiple of the stages");
  std::vector<Action> forwards, backwards;
  for (int group = 0; group < micro_batches; group += stages) {
    for (int c = 0; c < chunks; ++c) {
      for (int j = group; j < group + stages; ++j) {
        forwards.push_back({Pass::forward, j, c});
        backwards.push_back({Pass::backward, j, chunks - 1 - c});
      }
    }
  }
  const int passes = static_cast<int>(forwards.size());
  const int ahead = std::min((chunks - 1) * stages + stages - stage, passes);
  std::vector<Action> actions(forwards.begin(), forwards.begin() + ahead);
  for (int i = 0; i < passes; ++i) {
    actions.push_back(backwards[static_cast<std::size_t>(i)]);
    if (ahead + i < passes) actions.push_back(forwards[static_cast<std::size_t>(ahead + i)]);
  }
  return actions;
}

}  // namespace lockstep::pipeline
