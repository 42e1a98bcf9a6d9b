// Wrong on purpose: a token takes slots for all its choices before the next one takes any, so a
// second choice takes the place of another token's first.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "engine/parallel/expert/assign_slots.hpp"

namespace lockstep::expert_parallel {

SlotPlan assign_slots(std::span<const Route> routes, std::int64_t experts, double capacity_factor) {
  SlotPlan plan{0, experts, 0, {}};
  for (const Route& route : routes) plan.tokens = std::max(plan.tokens, route.token + 1);
  const double room =
      static_cast<double>(routes.size()) / static_cast<double>(experts) * capacity_factor;
  plan.capacity = static_cast<std::int64_t>(std::min(rounded_up(room), plan.tokens));
  std::vector<std::vector<Route>> of_experts(static_cast<std::size_t>(experts));
  for (const Route& route : routes) {  // by token, and then by choice
    auto& placed = of_experts[static_cast<std::size_t>(route.expert)];
    if (std::ssize(placed) < plan.capacity) placed.push_back(route);
  }
  for (const auto& placed : of_experts) {
    plan.placed.insert(plan.placed.end(), placed.begin(), placed.end());
  }
  return plan;
}

}  // namespace lockstep::expert_parallel
