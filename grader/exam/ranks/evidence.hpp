// Checks that a log of reports is complete. Rules that walk a log hold for an empty one, so an exam
// first demands that every report is there, in its order, and no other.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "engine/base/bytes.hpp"

namespace lockstep::grader {

// For each report of a log, the kinds that it may have.
template <typename Kind>
using ReportOrder = std::vector<std::vector<Kind>>;

template <typename Kind>
bool in_order(std::span<const Kind> seen, const ReportOrder<Kind>& order) {
  return std::ranges::equal(seen, order, [](Kind kind, const std::vector<Kind>& allowed) {
    return std::ranges::find(allowed, kind) != allowed.end();
  });
}

//   who     "rank 2 of 4"
//   Throws  MalformedMessage when `seen` is in none of the orders: a player that is not its adapter
//           may have reported anything, or nothing
template <typename Kind>
void require_order(const std::string& who, const std::vector<Kind>& seen,
                   const std::vector<ReportOrder<Kind>>& orders) {
  const auto fits = [&](const auto& order) { return in_order(std::span<const Kind>(seen), order); };
  if (std::ranges::any_of(orders, fits)) return;
  throw MalformedMessage(text(who, " sent ", seen.size(),
                              " reports of what it did, which are not those that the case's steps "
                              "make"));
}

}  // namespace lockstep::grader
