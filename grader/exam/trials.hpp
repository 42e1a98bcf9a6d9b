// Trials of code that may do anything: hang, crash, exit, use up memory. They run in child
// processes under limits, one after the other, and the judge learns of each only whether it holds.
//
// A child runs trials until one holds. One that breaks it is given up, and a new child goes on
// behind it. So a trial that hangs costs its processor time once, and no other trial its answer.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace lockstep::grader {

struct TrialLimits {
  double processor_s = 0.1;                           // of one trial, so that load changes nothing
  double silence_s = 10;                              // of one that waits without computing
  std::size_t memory_bytes = std::size_t{128} << 20;  // besides what the caller has
};

class Trials {
 public:
  explicit Trials(std::size_t count, const TrialLimits& limits = {})
      : given_up_(count), limits_(limits) {}

  // The first trial that holds. One that throws does not hold.
  //   holds  is called in a child with the trial's number; what it changes stays there
  //   Returns  nothing, too, when the system gives no process
  std::optional<std::size_t> first_that_holds(const std::function<bool(std::size_t)>& holds);

 private:
  std::vector<bool> given_up_;  // by trial
  TrialLimits limits_;
};

}  // namespace lockstep::grader
