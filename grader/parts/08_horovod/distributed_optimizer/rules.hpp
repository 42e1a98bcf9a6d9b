// The rules for an optimizer: the values after each step, likely causes of wrong gradients and
// values, the calls that it refuses, and the times at which it hands gradients over.
#pragma once

#include "grader/exam/ranks/checks.hpp"
#include "grader/parts/08_horovod/distributed_optimizer/script.hpp"

namespace lockstep::grader::distributed_optimizer {

struct OptimizerProblem {
  Members members;
  Training training;
  std::uint64_t schedule_seed = 0;

  std::string description() const;
};

using OptimizerContract =
    RanksContract<OptimizerProblem, OptimizerCase, OptimizerReport, TrainingService>;

// Gradients, values and refusals.
OptimizerContract contract_of_results();

// That gradients travel while backward computes, on every rank. The cycle time is 0, so that the
// strand begins a round at once:
//   a. no gradient was followed by waiting: backward never stood still;
//   b. whenever the strand was free, a round of negotiation began as soon as a gradient was final;
//   c. the gradients of a step were summed once;
//   d. step returned when the last sum was there.
void check_hand_over(CaseRunner& runner, const Played& played, const OptimizerProblem& p,
                     const TrainingService& events);

}  // namespace lockstep::grader::distributed_optimizer
