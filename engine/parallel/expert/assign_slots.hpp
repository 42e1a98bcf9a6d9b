// Places for tokens in their experts. An expert that is chosen by more tokens than it has slots
// computes the first of them, and drops the others: what is dropped goes on by the residual
// connection alone.
//   T tokens, E experts, K choices of a token, F capacity factor
// Source: [LLX20] §2.2, [FZS21] §2.2
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/parallel/expert/top_k_router.hpp"

namespace lockstep::expert_parallel {

inline constexpr double no_capacity = std::numeric_limits<double>::infinity();

// The plan of what the experts compute. Routes that were dropped are not in it.
struct SlotPlan {
  std::int64_t tokens = 0;    // T
  std::int64_t experts = 0;   // E
  std::int64_t capacity = 0;  // slots of each expert
  // By expert; those of one expert in the order of their slots, 0, 1, …, without a gap.
  std::vector<Route> placed;
  bool operator==(const SlotPlan&) const = default;
};

// ⌈number⌉ for a capacity. 100 / 2 · 1.1 is 55.00000000000001 in float64: what a few roundings add
// is no slot more.
//   number   0 or more; may be infinite
//   Returns  the largest std::int64_t where ⌈number⌉ is beyond it
inline std::int64_t rounded_up(double number) {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  const double up = std::ceil(number * (1 - 1e-12));
  return up < static_cast<double>(largest) ? static_cast<std::int64_t>(up) : largest;
}

// Gives the routes of a rank's tokens their slots. A part: defined in solutions/14_expert_parallel.
//   routes           of T tokens, each with K: T·K of them, by token and choice
//   capacity_factor  F, above 0; no_capacity: every expert has T slots, so nothing is dropped
//   Returns          capacity ⌈T·K/E·F⌉ (rounded_up), and at most T, since no token chooses an
//                    expert twice. All first choices are placed before any second one, and so on;
//                    equal choices in the order of tokens
//   Time             O(T·K + E)
//   Throws           ContractError unless F is above 0, experts are 1 or more and each route is of
//                    one of them
SlotPlan assign_slots(std::span<const Route> routes, std::int64_t experts, double capacity_factor);

}  // namespace lockstep::expert_parallel
