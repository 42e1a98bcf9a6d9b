// The case format of bounded_staleness, shared by adapter and exam: lists of clocks, or a whole run
// in virtual time in which the part decides who starts.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/parallel/async_sgd/bounded_staleness.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

enum class StalenessForm : std::uint8_t { clocks, runs };

// The clocks of the workers.
struct WorkerClocks {
  std::vector<std::int64_t> clocks;
  std::vector<std::uint8_t> finished;  // 1: takes no more steps
  std::int64_t bound = 0;
};

// By worker: how long each of its steps takes, and after how many it has finished.
struct WorkerRun {
  std::vector<std::int64_t> step_ms, steps;
  std::int64_t bound = 0;
};

// 1: may start. Of clocks by worker, and 0 for those that have finished; of a run by call.
using Starts = std::vector<std::uint8_t>;

template <typename Archive>
void fields(Archive& archive, WorkerClocks& at) {
  archive(at.clocks, at.finished, at.bound);
}
template <typename Archive>
void fields(Archive& archive, WorkerRun& run) {
  archive(run.step_ms, run.steps, run.bound);
}

// Follows a run: whoever is neither computing nor finished is asked for at the beginning, and again
// each time that a step ends. may_start(clocks, worker, now_ms) decides.
//   Returns  where the workers are when nobody computes any more: all have finished, or those that
//            have not wait for ever
WorkerClocks follow(const WorkerRun& run, const auto& may_start) {
  const std::size_t workers = run.steps.size();
  WorkerClocks at{std::vector<std::int64_t>(workers), Starts(workers), run.bound};
  std::vector<std::int64_t> ends_ms(workers, -1);  // of the step that it computes; -1: of none
  for (std::int64_t now_ms = 0;;) {
    for (std::size_t w = 0; w < workers; ++w) {
      if (at.finished[w] || ends_ms[w] >= 0) continue;
      if (may_start(at, static_cast<int>(w), now_ms)) ends_ms[w] = now_ms + run.step_ms[w];
    }
    std::int64_t next_ms = -1;
    for (const std::int64_t end_ms : ends_ms) {
      if (end_ms >= 0 && (next_ms < 0 || end_ms < next_ms)) next_ms = end_ms;
    }
    if (next_ms < 0) return at;
    now_ms = next_ms;
    for (std::size_t w = 0; w < workers; ++w) {
      if (ends_ms[w] != now_ms) continue;
      ends_ms[w] = -1;
      if (++at.clocks[w] == run.steps[w]) at.finished[w] = 1;
    }
  }
}

}  // namespace lockstep::grader
