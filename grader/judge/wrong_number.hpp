// Likely causes of one wrong number, whatever function returned it: an answer to an earlier
// question, one that lost digits in a float, one that an int was too small for. An exam says what
// is special to its function, and asks here for the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "grader/judge/wrong_values.hpp"

namespace lockstep::grader {

struct WrongNumber {
  double seen = 0, expected = 0;
  std::span<const double> earlier{};  // what was right for earlier questions of this run
};
struct WrongInteger {
  std::int64_t seen = 0, expected = 0;
  std::span<const std::int64_t> earlier{};
};

// "stale", "rounded", "overflow" or "integer_division" (causes.hpp), each only where the number
// shows it.
std::optional<Cause> likely_cause(const WrongNumber& number);
std::optional<Cause> likely_cause(const WrongInteger& number);

// The cause "stale": this is right for the question that was asked `before` questions before this
// one, or this question was answered rightly before, or it is when nothing was asked before it.
Cause kept_from(std::size_t before);
Cause answered_before();
Cause right_alone();

// Says what a wrong number is to the right one, as a sentence begins: "this is 3 times the right
// number", half of it, its negative, or one more or less than a whole one.
std::optional<std::string> relation_to_right(double seen, double expected);

// The cause, behind that relation, unless it begins with one of its own.
Cause with_relation(Cause own, double seen, double expected);

// An exam's own cause, or, where it knows none ("other_…"), what the number tells by itself.
template <typename Number>
Cause known_or_likely(Cause own, const Number& number) {
  if (!own.name.starts_with("other_")) return own;
  if (auto likely = likely_cause(number)) return *std::move(likely);
  return with_relation(std::move(own), static_cast<double>(number.seen),
                       static_cast<double>(number.expected));
}

// The value that is left of a number in an int.
constexpr std::int64_t in_32_bits(std::int64_t number) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(number));
}

}  // namespace lockstep::grader
