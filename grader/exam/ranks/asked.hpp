// The situations of a case, read from what its ranks hold.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>

#include "grader/exam/ranks/members.hpp"
#include "grader/judge/situation.hpp"

namespace lockstep::grader {

using Situations = std::set<Situation>;

// 3 and 2 first: with them most mistakes show, in cases that are easily read.
inline constexpr int rank_counts[] = {3, 2, 4, 1, 5, 6, 7, 8, 13};

inline Situations situations_of(const Members& members) {
  Situations asked;
  if (members.ranks != first_ranks(members.world)) asked.insert(Situation::another_group);
  // The last of rank_counts, so all of them were asked.
  if (members.size() == 13) asked.insert(Situation::rank_counts);
  return asked;
}

// `values`: numbers that one rank brings.
inline void ask_of_values(std::span<const double> values, Situations& asked) {
  if (values.empty()) return;
  if (std::ranges::all_of(values, [](double v) { return v == 0; })) asked.insert(Situation::zeros);
  for (const double value : values) {
    if (std::isnan(value)) asked.insert(Situation::not_a_number);
    if (std::isinf(value)) asked.insert(Situation::infinity);
    if (value == 0 && std::signbit(value)) asked.insert(Situation::negative_zero);
  }
}

}  // namespace lockstep::grader
