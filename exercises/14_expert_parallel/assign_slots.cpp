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
  // Avoids warnings about parameters that are not used yet.
  (void)routes, (void)experts, (void)capacity_factor;
  throw NotImplemented("assign_slots");
  // <<< your code
}

}  // namespace lockstep::expert_parallel
