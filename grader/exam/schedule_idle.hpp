// Finds the first time that a plan loses which takes too long: a stage is idle before one action,
// though a later one of its list could run.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/parallel/pipeline/drawing.hpp"
#include "engine/parallel/pipeline/plan.hpp"

namespace lockstep::grader {

// Until the first backward pass, from there to the last forward pass, and after it.
enum class PipelinePhase : unsigned char { warm_up, steady, cool_down };
std::string name_of(PipelinePhase phase);  // "warm-up"

struct IdleTime {
  PipelinePhase phase = PipelinePhase::warm_up;
  pipeline::Mark mark{};  // what the stage waits for
  pipeline::Action waits_for{}, could_run{};
  double from_s = 0;
};

// The first time at which a stage waits though it need not.
//   most_in_flight  of a stage: how many forward passes may be kept there, so that one more cannot
//                   run ahead
//   Returns         nothing if no stage has anything else to do while it waits
std::optional<IdleTime> first_avoidable_idle(const pipeline::Plan& plan,
                                             const pipeline::PlanTimeline& timeline,
                                             const std::function<double(int)>& most_in_flight);

// "stage 1 waits for B0 in its warm-up, though F2 could run": for the plan's chunks.
std::string told(const IdleTime& idle, int chunks);

}  // namespace lockstep::grader
