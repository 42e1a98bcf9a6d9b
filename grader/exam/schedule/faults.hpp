// Why a plan of a pipeline cannot be carried out, as far as its lists tell.
#pragma once

#include "engine/parallel/pipeline/plan.hpp"
#include "grader/judge/causes.hpp"

namespace lockstep::grader {

Cause cause_of_fault(const pipeline::Plan& plan, const pipeline::PlanFault& fault);

}  // namespace lockstep::grader
