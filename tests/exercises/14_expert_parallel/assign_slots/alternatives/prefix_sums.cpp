// Prefix sums of one-hot columns: the number of earlier choices of the same expert is the slot, and
// slots beyond the capacity are dropped. Then places are sorted by expert and slot.
#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/parallel/expert/assign_slots.hpp"

namespace lockstep::expert_parallel {

SlotPlan assign_slots(std::span<const Route> routes, std::int64_t experts, double capacity_factor) {
  LOCKSTEP_CHECK(experts > 0 && capacity_factor > 0, experts, " experts, factor ", capacity_factor);
  std::vector<Route> order(routes.begin(), routes.end());
  SlotPlan plan{0, experts, 0, {}};
  for (const Route& one : order) {
    LOCKSTEP_CHECK(one.expert >= 0 && one.expert < experts, "no expert ", one.expert);
    plan.tokens = std::max(plan.tokens, one.token + 1);
  }
  const double even = static_cast<double>(routes.size()) / static_cast<double>(experts);
  const auto most = static_cast<double>(plan.tokens);
  if (plan.tokens > 0) plan.capacity = rounded_up(std::min(capacity_factor * even, most));
  std::ranges::stable_sort(order, {}, &Route::choice);
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(experts));
  std::vector<std::pair<std::int64_t, Route>> kept;
  for (const Route& one : order) {
    const std::int64_t slot = chosen[static_cast<std::size_t>(one.expert)]++;
    if (slot < plan.capacity) kept.emplace_back(slot, one);
  }
  std::ranges::sort(kept, [](const auto& a, const auto& b) {
    return std::tie(a.second.expert, a.first) < std::tie(b.second.expert, b.first);
  });
  for (const auto& [slot, one] : kept) plan.placed.push_back(one);
  return plan;
}

}  // namespace lockstep::expert_parallel
