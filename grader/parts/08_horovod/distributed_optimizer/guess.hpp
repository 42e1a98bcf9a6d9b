// The likely cause of a wrong gradient.
#pragma once

#include "grader/parts/08_horovod/distributed_optimizer/rules.hpp"

namespace lockstep::grader::distributed_optimizer {

// Guesses the cause of a parameter's wrong gradient after a step. `right` is that of all steps, as
// right_gradients() makes it; `seen` are the values on this rank.
Cause cause_of_gradient(const OptimizerProblem& p,
                        const std::vector<std::vector<StepGradient>>& right, std::size_t step,
                        std::size_t parameter, std::span<const double> seen, int rank);

}  // namespace lockstep::grader::distributed_optimizer
