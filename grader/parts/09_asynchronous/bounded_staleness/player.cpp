// Plays bounded_staleness: asks for every worker that is active, at clocks that are given or in a
// run that goes as the part decides.
#include "grader/parts/09_asynchronous/bounded_staleness/case.hpp"

#include <memory>

#include "grader/play/function_play.hpp"

namespace lockstep::grader {
namespace {

// A list of truth values is not a span of them.
bool part_lets_start(const WorkerClocks& at, int worker) {
  const auto finished = std::make_unique<bool[]>(at.finished.size());
  for (std::size_t w = 0; w < at.finished.size(); ++w) finished[w] = at.finished[w] != 0;
  return async_sgd::may_start(at.clocks, {finished.get(), at.finished.size()}, worker, at.bound);
}

Starts who_may_start(const WorkerClocks& at) {
  Starts starts(at.clocks.size());
  for (std::size_t w = 0; w < starts.size(); ++w) {
    if (at.finished[w]) continue;
    starts[w] = part_lets_start(at, static_cast<int>(w)) ? 1 : 0;
  }
  return starts;
}

Starts answers_in(const WorkerRun& run) {
  Starts answers;
  follow(run, [&](const WorkerClocks& at, int worker, std::int64_t) {
    answers.push_back(part_lets_start(at, worker) ? 1 : 0);
    return answers.back() != 0;
  });
  return answers;
}

}  // namespace

Bytes play(sim::PlayerCase& played) {
  if (played.input.get<StalenessForm>() == StalenessForm::clocks) {
    return answer_or_refuse_each<WorkerClocks>(played, who_may_start);
  }
  return answer_or_refuse_each<WorkerRun>(played, answers_in);
}

}  // namespace lockstep::grader
