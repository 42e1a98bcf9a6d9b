// Work done in child processes, a few at a time: what goes wrong in one ends that one alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lockstep::grader {

struct WorkerLimits {
  int jobs = 1;
  double deadline_s = 300;                          // of one task
  std::size_t memory_bytes = std::size_t{4} << 30;  // address space that one task may add
  std::size_t answer_bytes = 8 << 20;
};

struct Outcome {
  enum class State : unsigned char { answered, died, timed_out } state = State::died;
  std::string answer;      // what the task returned
  std::string how;         // otherwise: how it ended, for a person
  double seconds = 0;      // wall time
  double processor_s = 0;  // of the child and of all that it started
};

// The answer for a task whose turn it is: it starts, `turn` is asked again a moment later, or the
// task is left out and `done` never hears of it.
enum class Turn : unsigned char { start, wait, leave_out };

// Calls each task in a child of its own; `done` is told in this process, in the order in which they
// end. A child that is over is gone, and so is all that it had started. `turn` is asked before each
// task; without it every task starts.
//
// Whatever a task does ends that task alone: a child that cannot be made, an exception, a signal,
// an answer longer than answer_bytes are all `died`.
//   Requires  one thread in this process
//   Throws    what `done` and `turn` throw, after ending the others
void work_through(const std::vector<std::function<std::string()>>& tasks,
                  const WorkerLimits& limits,
                  const std::function<void(std::size_t task, Outcome)>& done,
                  const std::function<Turn(std::size_t task)>& turn = {});

}  // namespace lockstep::grader
