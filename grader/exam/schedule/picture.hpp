// A pipeline's plan as a timeline that ./lab trace draws: stages take the places of ranks.
#pragma once

#include "engine/parallel/pipeline/timeline.hpp"
#include "engine/trace/timeline.hpp"

namespace lockstep::grader {

// The passes of each stage, the time in which it is idle, and the activations that it keeps. What
// else `run` says stays.
void draw_plan(const pipeline::PlanTimeline& plan, trace::Timeline& run);

}  // namespace lockstep::grader
