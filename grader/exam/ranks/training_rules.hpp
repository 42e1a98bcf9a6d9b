// The rules for the numbers that a training ends with: those of one device, up to the last digits,
// and the same bits on every rank.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "grader/exam/function/odd_values.hpp"
#include "grader/exam/ranks/training_tolerance.hpp"

namespace lockstep::grader {

// The cause where gradients have to travel, and less did.
inline const Cause samples_travel{
    "samples_travel",
    "no gradient travels: each rank computes with the samples of all ranks, as if it were alone"};

// Says of wrong numbers what they tell by themselves, whatever was trained.
inline std::optional<Cause> cause_of_numbers(std::span<const double> seen,
                                             std::span<const double> right, std::size_t at) {
  if (auto cause = cause_by_finiteness(seen, right, at)) return cause;
  if (auto digits = digits_only(seen, right)) return digits;
  const auto are_finite = [](std::span<const double> values) {
    return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
  };
  if (are_finite(seen) || !are_finite(right)) return std::nullopt;
  return Cause{"no_number",
               "this value is not finite: the training diverged, a number was divided by zero, or "
               "uninitialised memory was read"};
}

struct RightNumbers {
  DType dtype = DType::float64;
  std::span<const double> values;
  std::vector<double> tolerance;
  // "after 3 steps, parameter element 4", of an element
  std::function<std::string(std::size_t at)> name;
  std::string whose = "one device has";        // as a sentence goes on
  std::string where{};                         // "rank 2"
  std::optional<Cause> not_finite{};           // of a number that should be finite
  std::function<Cause(std::size_t at)> cause;  // where the numbers do not tell it
};

// Fails at the first of `seen` that is wrong.
inline void check_numbers(CaseRunner& runner, const Played& played, std::span<const double> seen,
                          const RightNumbers& right) {
  const auto at = first_difference(seen, right.values, right.tolerance);
  if (!at) return;
  const std::string wanted = number_at(right.values, *at, right.dtype),
                    shown = number_at(seen, *at, right.dtype);
  auto told = cause_of_numbers(seen, right.values, *at);
  if (right.not_finite && told && told->name == "no_number") told = right.not_finite;
  runner.fail(
      played,
      because(told ? *told : right.cause(*at),
              {.message = text(right.name(*at), " is ", shown, " where ", right.whose, ' ', wanted),
               .expected = wanted,
               .seen = shown,
               .where = right.where}));
}

// Fails when a rank's parameters are not those of rank 0.
//   when  "after 3 steps"
inline void check_same_bits(CaseRunner& runner, const Played& played, const std::string& when,
                            int rank, std::span<const double> seen, std::span<const double> zero,
                            const Cause& cause) {
  const auto at = first_other_bits(seen, zero);
  if (!at) return;
  const std::string first = number_at(zero, *at), own = number_at(seen, *at);
  runner.fail(played, because(cause, {.message = text(when, ", the replicas of rank 0 and rank ",
                                                      rank, " differ: ", first, " and ", own,
                                                      " at element ", *at),
                                      .expected = "the same bits on every rank",
                                      .seen = text(first, " on rank 0, ", own, " on rank ", rank),
                                      .where = text("rank ", rank)}));
}

}  // namespace lockstep::grader
