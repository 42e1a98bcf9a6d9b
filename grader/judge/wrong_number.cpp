#include "grader/judge/wrong_number.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/text.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader {
namespace {

constexpr double float_digits = 2e-7;  // a float32 holds 24 bits, and an answer has several steps
constexpr double to_rounding = 1e-12;
constexpr auto int_max = std::numeric_limits<std::int32_t>::max();

bool near(double a, double b, double relative) {
  return std::fabs(a - b) <= relative * std::max(std::fabs(a), std::fabs(b));
}

// 0 and 1 are right for many questions, and infinity for whatever is impossible.
bool tells(double value) { return std::isfinite(value) && std::fabs(value) != 1 && value != 0; }

const char* too_large_for_an_int =
    "an int holds at most 2,147,483,647, and a product or sum exceeds it; compute in int64_t, from "
    "the first factor on";

const char* kept_or_unwritten =
    "something is kept from one call to the next, such as a static variable, or memory is read "
    "before it is written";

bool wrapped(std::int64_t seen, std::int64_t expected) {
  const std::uint64_t apart =
      static_cast<std::uint64_t>(seen) - static_cast<std::uint64_t>(expected);
  return seen != expected && apart % (std::uint64_t{1} << 32) == 0;
}

}  // namespace

Cause kept_from(std::size_t before) {
  return {"stale",
          text("this is the answer to ",
               before == 1 ? std::string("the previous question")
                           : text("the question ", before, " before this one"),
               "; something is kept from one call to the next, such as a static variable")};
}

Cause answered_before() {
  return {"stale", text("the same question was answered rightly before; ", kept_or_unwritten)};
}

Cause right_alone() {
  return {"stale", text("in a new process, where nothing was called before, the part answers the "
                        "same rightly; ",
                        kept_or_unwritten)};
}

std::optional<std::string> relation_to_right(double seen, double expected) {
  constexpr double most = 64;  // larger factors say little
  const auto is_whole = [](double value) {
    return std::fabs(value - std::round(value)) <= to_rounding * std::fabs(value);
  };
  if (!std::isfinite(seen) || !std::isfinite(expected) || seen == expected) return std::nullopt;
  const bool whole = std::floor(seen) == seen && std::floor(expected) == expected;
  if (whole && std::fabs(seen - expected) == 1 && std::fabs(expected) > 2) {
    return text("this is one ", seen > expected ? "more" : "less", " than the right number");
  }
  if (seen == 0 || expected == 0) return std::nullopt;
  const double times = seen / expected, part = expected / seen;
  if (near(times, -1, to_rounding)) return "this is the right number with the other sign";
  if (times >= 2 - to_rounding && times <= most && is_whole(times)) {
    return text("this is ", std::round(times), " times the right number");
  }
  if (part >= 2 - to_rounding && part <= most && is_whole(part)) {
    return text("this is 1/", std::round(part), " of the right number");
  }
  return std::nullopt;
}

Cause with_relation(Cause own, double seen, double expected) {
  const auto relation = relation_to_right(seen, expected);
  if (relation && !own.sentence.starts_with("this is")) {
    own.sentence = text(*relation, "; ", own.sentence);
  }
  return own;
}

std::optional<Cause> likely_cause(const WrongNumber& number) {
  const auto& [seen, expected, earlier] = number;
  for (std::size_t before = 1; before <= earlier.size() && tells(seen); ++before) {
    if (near(seen, earlier[earlier.size() - before], to_rounding)) return kept_from(before);
  }
  if (!std::isfinite(seen) || !std::isfinite(expected) || expected == 0) return std::nullopt;
  constexpr double whole = 9e15;  // beyond it a double holds no fractions, nor all integers
  if (std::fabs(expected) < whole && std::fabs(seen) < whole && std::floor(seen) == seen &&
      std::floor(expected) == expected &&
      wrapped(static_cast<std::int64_t>(seen), static_cast<std::int64_t>(expected))) {
    return Cause{"overflow", too_large_for_an_int};
  }
  if (near(seen, expected, float_digits)) {
    return Cause{"rounded",
                 "only the first seven digits are right, all that a float holds; compute in "
                 "double, and write 0.1, not 0.1f"};
  }
  if (expected > int_max && seen < 0) return Cause{"overflow", too_large_for_an_int};
  if (seen != 0 && seen == std::trunc(expected) && std::fabs(expected) < whole) {
    return Cause{"integer_division",
                 "the fraction is lost: the quotient of two integers is an integer; convert the "
                 "first one to double before dividing"};
  }
  return std::nullopt;
}

std::optional<Cause> likely_cause(const WrongInteger& number) {
  const auto& [seen, expected, earlier] = number;
  for (std::size_t before = 1; before <= earlier.size() && seen != 0 && seen != 1; ++before) {
    if (seen == earlier[earlier.size() - before]) return kept_from(before);
  }
  if (wrapped(seen, expected) || (expected > int_max && seen < 0)) {
    return Cause{"overflow", too_large_for_an_int};
  }
  constexpr std::int64_t float_whole = 1 << 24, double_whole = std::int64_t{1} << 53;
  const auto a = static_cast<double>(seen), b = static_cast<double>(expected);
  if (std::abs(b) >= static_cast<double>(double_whole) && near(a, b, 1e-15)) {
    return Cause{"rounded",
                 "the number went through a double, which holds 53 bits; integers beyond "
                 "9,007,199,254,740,992 lose their last digits there"};
  }
  if (std::abs(b) > static_cast<double>(float_whole) && near(a, b, float_digits)) {
    return Cause{"rounded",
                 "only the first seven digits are right, all that a float holds; integers beyond "
                 "16,777,216 lose their last digits there"};
  }
  return std::nullopt;
}

}  // namespace lockstep::grader
