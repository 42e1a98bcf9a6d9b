// A case of dispatch_and_combine is that of a layer; its options are this rank's plan.
// The first parameter is the weights of the places, the others are the matrices of this rank's
// experts.
#pragma once

#include "engine/parallel/expert/dispatch_and_combine.hpp"
#include "grader/play/layer_play.hpp"

namespace lockstep::grader {

inline std::vector<std::int64_t> options_of(const expert_parallel::SlotPlan& plan) {
  std::vector<std::int64_t> options{plan.tokens, plan.experts, plan.capacity};
  for (const expert_parallel::Route& place : plan.placed) {
    options.insert(options.end(), {place.token, place.expert, place.choice});
  }
  return options;
}

// A plan's weights are of float64; those that count are the parameter's.
inline expert_parallel::SlotPlan plan_of_options(const std::vector<std::int64_t>& options) {
  expert_parallel::SlotPlan plan{options.at(0), options.at(1), options.at(2), {}};
  for (std::size_t i = 3; i + 2 < options.size(); i += 3) {
    plan.placed.push_back({options[i], options[i + 1], options[i + 2], 0});
  }
  return plan;
}

}  // namespace lockstep::grader
