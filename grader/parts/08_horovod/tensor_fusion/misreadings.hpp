// The usual ways to misread the contract of fuse, and the plan that each one gives.
#pragma once

#include <optional>
#include <span>

#include "grader/judge/causes.hpp"
#include "grader/parts/08_horovod/tensor_fusion/case.hpp"

namespace lockstep::grader::tensor_fusion {

// The misreading that gives just this plan, which is not the right one, and the right plan for all
// questions before.
std::optional<Cause> misreading_of(std::span<const FusionQuestion> asked,
                                   const horovod::FusionPlan& seen);

}  // namespace lockstep::grader::tensor_fusion
