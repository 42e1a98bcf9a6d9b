// The cost of a plan: when each action runs, how long the stages are idle, and what they keep.
//   p stages; v chunks a stage; m micro-batches
//
// A stage starts an action when the one before it is over and all that it needs is there. What a
// part gives to another stage is there `transfer_s` after the action's end; stages send while they
// compute.
#pragma once

#include <vector>

#include "engine/parallel/pipeline/action.hpp"

namespace lockstep::pipeline {

// The time of each pass over one part. By default, a backward pass takes two forward passes, half
// of it for each of its two gradients.
struct PassCosts {
  double forward_s = 1;
  double backward_s = 2;
  double input_gradient_s = 1;
  double weight_gradient_s = 1;
};
double cost_of(const PassCosts& costs, Pass pass);

struct Costs {
  // By part, chunk · p + stage; one entry stands for all parts.
  std::vector<PassCosts> parts{PassCosts{}};
  double transfer_s = 0;
};

struct Span {
  Action action{};
  double start_s = 0;
  double end_s = 0;
};

struct StageTimeline {
  std::vector<Span> spans{};
  double busy_s = 0;
  // The most activations at a time: chunks, once for each micro-batch, whose forward pass has run
  // and whose whole backward pass, or W, has not.
  int in_flight_max = 0;
  // The most of them at a time whose I has run, so that W alone still needs them.
  int kept_for_weights_max = 0;
};

struct PlanTimeline {
  int chunks = 1;
  int micro_batches = 1;
  std::vector<StageTimeline> stages{};
  double makespan_s = 0;

  double idle_s() const;  // of all stages, between 0 and the makespan
  // The idle time as a share of the time that work takes: (p−1)/m for GPipe and 1F1B.
  double bubble_of_ideal() const;
  // The same as a share of the makespan: (p−1)/(m+p−1).
  double bubble_of_total() const;
};

//   Throws  ContractError for a plan that is not valid (plan.hpp), for costs of neither one nor all
//           parts, and for a time that is negative or not finite
PlanTimeline price(const Plan& plan, const Costs& costs = {});

// The same as far as it goes: of a plan whose stages wait for each other, what runs before.
//   Requires  passes that there are: no fault of the kinds sizes and no_such_pass
PlanTimeline price_what_runs(const Plan& plan, const Costs& costs = {});

}  // namespace lockstep::pipeline
