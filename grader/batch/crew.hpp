// Work done in child processes, a few at a time: what goes wrong in one ends that one alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lockstep::grader {

struct CrewLimits {
  int jobs = 1;
  double deadline_s = 300;                          // of one task
  std::size_t memory_bytes = std::size_t{4} << 30;  // address space of one task
  std::size_t answer_bytes = 8 << 20;
};

struct Outcome {
  enum class State : unsigned char { answered, died, timed_out } state = State::died;
  std::string answer;  // what the task returned
  std::string how;     // otherwise: how it ended, for a person
  double seconds = 0;
};

// Calls each task in a child of its own; `done` is told in this process, in the order in which they
// end. A child that is over is gone, and so is all that it had started.
//   Requires  one thread in this process
//   Throws    Error when no child can be made; what `done` throws, after ending the others
void work_through(const std::vector<std::function<std::string()>>& tasks, const CrewLimits& limits,
                  const std::function<void(std::size_t task, Outcome)>& done);

}  // namespace lockstep::grader
