// Task: give each choice of a token a slot in its expert, or drop it where the expert is full. The
// contract is in engine/parallel/expert/assign_slots.hpp.
#include "engine/parallel/expert/assign_slots.hpp"

#include <algorithm>
#include <cstddef>

#include "engine/base/error.hpp"

namespace lockstep::expert_parallel {

SlotPlan assign_slots(std::span<const Route> routes, std::int64_t experts, double capacity_factor) {
  LOCKSTEP_CHECK(experts >= 1 && capacity_factor > 0, "assign_slots: ", experts,
                 " experts with a capacity factor of ", capacity_factor, "; both are above 0");
  std::int64_t tokens = 0, choices = 0;
  for (const Route& route : routes) {
    LOCKSTEP_CHECK(route.expert >= 0 && route.expert < experts, "assign_slots: token ", route.token,
                   " goes to expert ", route.expert, " of ", experts, "; experts count from 0");
    tokens = std::max(tokens, route.token + 1);
    choices = std::max(choices, route.choice + 1);
  }
  // >>> your code
  const double room =
      static_cast<double>(routes.size()) / static_cast<double>(experts) * capacity_factor;
  const std::int64_t capacity = room < static_cast<double>(tokens) ? rounded_up(room) : tokens;
  std::vector<std::vector<Route>> of_experts(static_cast<std::size_t>(experts));
  for (std::int64_t choice = 0; choice < choices; ++choice) {
    for (const Route& route : routes) {
      if (route.choice != choice) continue;
      auto& placed = of_experts[static_cast<std::size_t>(route.expert)];
      if (std::ssize(placed) < capacity) placed.push_back(route);
    }
  }
  SlotPlan plan{tokens, experts, capacity, {}};
  for (const auto& placed : of_experts) {
    plan.placed.insert(plan.placed.end(), placed.begin(), placed.end());
  }
  return plan;
  // <<< your code
}

}  // namespace lockstep::expert_parallel
