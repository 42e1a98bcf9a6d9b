// The usual ways to misread the contract of assign_buckets, and the plan that each one gives.
#pragma once

#include <optional>
#include <span>

#include "grader/judge/causes.hpp"
#include "grader/parts/07_ddp/assign_buckets/case.hpp"

namespace lockstep::grader::assign_buckets {

// The misreading that gives just this plan, which is not the right one, and the right plan for all
// questions before.
std::optional<Cause> misreading_of(std::span<const BucketQuestion> asked,
                                   const collectives::BucketPlan& seen);

}  // namespace lockstep::grader::assign_buckets
