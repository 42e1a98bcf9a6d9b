// Shared by exams of parts that combine the gradients of ranks: gradients to draw, and rules that
// hold whatever the right values are.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "grader/exam/ranks/asked.hpp"
#include "grader/judge/case_runner.hpp"
#include "grader/play/gradients.hpp"

namespace lockstep::grader {

// Values that gradients hold besides the usual ones.
enum class Held : std::uint8_t {
  usual,
  odd,           // by parameter, in turn: NaN on rank 1, infinity there, one of each sign on two
                 // ranks, zeros on rank 1
  zeros_on_one,  // rank 1 has nothing but zeros
  zeros,         // so has every rank
  large,         // a sum over two ranks or more is infinite, and the mean is not
};
inline constexpr Held every_held[] = {Held::odd, Held::zeros_on_one, Held::zeros};
std::string name_of(Held held);  // ", some values not finite"

// float16 and bfloat16 have the same width.
inline constexpr DType every_gradient_dtype[] = {DType::float64, DType::bfloat16, DType::float16};

// The data that all ranks share.
struct GradientPlan {
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes;
  std::vector<std::uint8_t> has_grad;
  Held held = Held::usual;
  std::vector<DType> dtypes{};  // of each parameter, where they differ; else `dtype`
  // Drawn with all digits of float64, where memory is measured; else with those of a float, so that
  // sums in float64 are exact.
  bool all_digits = false;

  DType dtype_of(std::size_t i) const { return dtypes.empty() ? dtype : dtypes.at(i); }
  std::int64_t bytes() const;  // of the gradients there are
};

// The gradient of parameter i on group rank `rank`, as that rank will hold it: of another size on
// every rank and never zero, unless `scale` is, or plan.held says otherwise.
std::vector<double> drawn_gradient(const GradientPlan& plan, std::uint64_t salt, int rank,
                                   std::size_t i, double scale = 1);
// All of a rank's, for its case.
Gradients drawn_gradients(const GradientPlan& plan, std::uint64_t salt, int rank, double scale = 1);

// The situations into which a rank's gradients put a part.
void ask_of(const Gradients& gradients, Situations& asked);

// The value that a parameter's gradient must have become, and how a wrong one is explained.
struct ExpectedGradient {
  std::vector<double> values, tolerance;
  std::string name;  // "the mean over 4 ranks"
  std::function<Cause(std::span<const double> seen, int rank)> likely_cause;
};

// Parameter i on all ranks of the group: the value is untouched, a gradient is where there was one,
// it is what is expected, and its bits are the same everywhere.
void check_gradient(CaseRunner& runner, const Played& played, const GradientPlan& plan,
                    std::size_t i, const std::vector<GradientReports>& of_ranks,
                    const ExpectedGradient& expected);

// The gradients went over the wire once: 2(N-1)/N of their bytes from the busiest rank.
void check_one_reduction(CaseRunner& runner, const Played& played, const GradientPlan& plan,
                         int ranks);

// True if |seen - expected| is within 1e-4 of expected everywhere: enough to recognise a mistake.
bool resembles(std::span<const double> seen, std::span<const double> expected);
bool all_finite(std::span<const double> values);

}  // namespace lockstep::grader
