// How far a training run may end from where one device ends.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/dtype.hpp"
#include "grader/exam/ranks/asked.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/judge/compare.hpp"
#include "grader/play/step_case.hpp"

namespace lockstep::grader {

inline std::vector<double> relative_tolerance(double relative, std::span<const double> expected) {
  std::vector<double> tolerance;
  for (double value : expected) tolerance.push_back(relative * std::max(1.0, std::fabs(value)));
  return tolerance;
}

// In float64, sums in another order move the result of some dozen steps by some 1e-13; Adam divides
// by the root of the second moment and so magnifies that for tiny gradients. 1e-6 leaves room for
// every right order of summation and is far below what any mistake changes. In float32 the same
// sums differ by some 1e-6.
inline std::vector<double> training_tolerance(DType dtype, std::span<const double> expected) {
  return relative_tolerance(dtype == DType::float64 ? 1e-6 : 1e-3, expected);
}

// The same where a number must not have gone through a smaller type: a float is off by some 1e-8.
// Steps of SGD are linear in the gradients, so that a dozen of them stay within 1e-14 of those of
// any right order of summation. Adam's first steps divide a gradient g by |g| + 1e-8: where it
// cancels to some 1e-17, another order moves the step, a hundredth, by 1e-9 of it at most.
inline std::vector<double> digits_tolerance(DType dtype, OptimizerKind optimizer,
                                            std::span<const double> expected) {
  if (dtype != DType::float64) return training_tolerance(dtype, expected);
  return relative_tolerance(optimizer == OptimizerKind::adam ? 1e-9 : 1e-12, expected);
}

// Finds numbers that are right to seven digits, as a float is.
inline std::optional<Cause> digits_only(std::span<const double> seen,
                                        std::span<const double> right) {
  if (first_difference(seen, right, relative_tolerance(1e-6, right))) return std::nullopt;
  return Cause{"rounded",
               "only the last digits are wrong: on the way a float64 was rounded to float; use "
               "double"};
}

// The situations into which a rank's samples put a part.
inline void ask_of(const StepCase& c, Situations& asked) {
  ask_of_values(c.inputs, asked);
  // The model has weights of two dimensions and biases of one; float32 comes beside float64.
  if (c.dtype == DType::float32) asked.insert(Situation::every_dtype);
  if (c.dtype == DType::float64) asked.insert(Situation::double_digits);
}

// Tells of a rank whose step ended in an exception and moved the parameters all the same.
//   taken  the steps that ended well before it
inline Failure updated_though_it_failed(int rank, std::int64_t taken, std::span<const double> right,
                                        std::span<const double> seen, std::size_t at) {
  const std::string expected = number_at(right, at), shown = number_at(seen, at);
  return because({"updated_though_it_failed",
                  "the optimizer steps although the exchange of the gradients failed, so this "
                  "replica goes its own way"},
                 {.message = text("rank ", rank, " threw in step ", taken,
                                  " because a peer was lost, but parameter element ", at, " is ",
                                  shown, " where it was ", expected, " before that step"),
                  .expected = expected,
                  .seen = shown,
                  .where = text("rank ", rank, ", step ", taken)});
}

}  // namespace lockstep::grader
