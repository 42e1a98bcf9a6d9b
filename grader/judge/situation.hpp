// The situations that exams put parts into. A battery is the list of those that every part of a
// kind is asked: its exam plays a case of each, or the part's manifest excepts it with a reason.
// The runner counts them in the cases that were played (CaseSetup::situations).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string_view>

namespace lockstep::grader {

enum class Situation : unsigned char {
  // Values.
  not_a_number,
  infinity,
  zeros,
  negative_zero,
  subnormal,
  integer_extremes,
  every_dtype,
  shapes,
  negative_loss,
  // Sizes.
  rank_counts,
  element_counts,
  beyond_2_8,
  beyond_2_16,
  beyond_2_32,
  cost_at_13_ranks,
  // Several at once.
  two_in_flight,
  two_objects,
  same_call_twice,
  calls_in_turns,
  after_an_exception,
  another_group,
  // Order.
  order_of_ranks,
  order_of_strands,
  // Faults.
  lost_at_each_request,
  unchanged_after_a_failure,
  foreign_exception,
  // Price and digits.
  price_at_the_extremes,
  double_digits,
  rounded_once,
};

inline constexpr int situation_count = static_cast<int>(Situation::rounded_once) + 1;

// The number of cases of each situation that were played.
using SituationCounts = std::map<Situation, int>;

std::string_view name_of(Situation situation);      // "not_a_number", as manifests spell it
std::string_view sentence_of(Situation situation);  // "one rank holds a value that is not a number"
std::optional<Situation> situation_named(std::string_view name);

// The situations that every exam of a kind asks. A kind is a manifest's `battery`, or its family.
//   Returns  none if there is no such kind
std::optional<std::span<const Situation>> battery_of(std::string_view kind);

}  // namespace lockstep::grader
