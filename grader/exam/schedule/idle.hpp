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
  bool helps = false;  // the plan comes nearer to its bound if that runs there
  // The stage does not wait: it runs a W, could_run, before waits_for, which others wait for.
  bool early_weight = false;
};

// The time at which a stage waits, or runs a W too early, and another pass, run there, makes the
// plan better than any other such change; or, where none does by itself, the first time at which a
// stage waits though it need not.
//   most_in_flight  of a stage: how many forward passes may be kept there, so that one more cannot
//                   run ahead
//   lateness_s      of a plan that can be carried out: by how much it misses what is enough
//   Returns         nothing if no stage has anything else to do while it waits
std::optional<IdleTime> first_avoidable_idle(
    const pipeline::Plan& plan, const pipeline::PlanTimeline& timeline,
    const std::function<double(int)>& most_in_flight,
    const std::function<double(const pipeline::Plan&)>& lateness_s);

// The most forward passes that are in flight in a stage's list by itself.
int in_flight_in(const std::vector<pipeline::Action>& actions);

// "stage 0 runs B1 before B0, and …": the first stage with two passes in another order than the
// stage that gives them, if there is one.
std::optional<std::string> other_order(const pipeline::Plan& plan);

// "stage 1 waits for B0 in its warm-up, though F2 could run": for the plan's chunks.
std::string told(const IdleTime& idle, int chunks);

}  // namespace lockstep::grader
