// One expert after the other: each looks through all choices, the first ones before the second.
#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/parallel/expert/assign_slots.hpp"

namespace lockstep::expert_parallel {

SlotPlan assign_slots(std::span<const Route> routes, std::int64_t experts, double capacity_factor) {
  if (experts < 1 || !(capacity_factor > 0)) throw ContractError("no experts, or no capacity");
  for (const Route& one : routes) {
    if (one.expert < 0 || one.expert >= experts) throw ContractError("a route leads nowhere");
  }
  const std::int64_t tokens = routes.empty() ? 0 : routes.back().token + 1;
  const std::int64_t choices = routes.empty() ? 0 : routes.back().choice + 1;
  const auto all = static_cast<double>(routes.size()), of = static_cast<double>(experts);
  SlotPlan plan{tokens, experts, std::min(tokens, rounded_up(all * capacity_factor / of)), {}};
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    std::int64_t left = plan.capacity;
    for (std::int64_t choice = 0; choice < choices; ++choice) {
      for (const Route& one : routes) {
        if (one.expert != expert || one.choice != choice || left == 0) continue;
        plan.placed.push_back(one);
        --left;
      }
    }
  }
  return plan;
}

}  // namespace lockstep::expert_parallel
