#include "grader/exam/function/odd_values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/text.hpp"

namespace lockstep::grader {

std::string name_of(Odd odd) {
  switch (odd) {
    case Odd::not_a_number:
      return ", a NaN among the inputs of the last rank";
    case Odd::infinity:
      return ", an infinity among the inputs of the last rank";
    case Odd::zeros:
      return ", the last rank's inputs are zeros";
    case Odd::none:
      break;
  }
  return {};
}

void make_odd(std::vector<double>& inputs, Odd odd) {
  if (odd == Odd::zeros) std::ranges::fill(inputs, 0);
  if (inputs.empty()) return;
  double& middle = inputs[inputs.size() / 2];
  if (odd == Odd::not_a_number) middle = std::numeric_limits<double>::quiet_NaN();
  if (odd == Odd::infinity) middle = std::numeric_limits<double>::infinity();
}

std::optional<Cause> cause_by_finiteness(std::span<const double> seen,
                                         std::span<const double> expected, std::size_t at) {
  const auto finite = [](double value) { return std::isfinite(value); };
  if (at >= seen.size() || seen.size() != expected.size()) return std::nullopt;
  bool hidden = false;
  for (std::size_t e = 0; e < seen.size(); ++e) {
    hidden = hidden || (finite(seen[e]) && !finite(expected[e]));
  }
  if (hidden || !finite(expected[at])) {
    return Cause{"not_finite_hidden",
                 "a value that is not finite was left out or replaced; it has to show in what it "
                 "goes into, or nobody sees that the training failed"};
  }
  if (!finite(seen[at]) && !std::ranges::all_of(expected, finite)) {
    return Cause{"not_finite_spread",
                 "another value is not finite here, and it does not go into this one"};
  }
  return std::nullopt;
}

double largest_finite(DType dtype) {
  return dtype == DType::float64    ? std::numeric_limits<double>::max()
         : dtype == DType::float32  ? std::numeric_limits<float>::max()
         : dtype == DType::bfloat16 ? 0x1.FEp127
                                    : 65'504;
}

bool is_too_large(double value, DType dtype) { return std::fabs(value) > largest_finite(dtype); }

Cause overflowing_sum(int ranks, DType dtype) {
  return {"overflow", text("the sum over ", ranks, " ranks is too large for ", name_of(dtype),
                           " here, and the mean is not: multiply by 1/N before the sum")};
}

std::optional<Cause> overflowing_sum(std::span<const double> means, int ranks, DType dtype) {
  const auto overflows = [&](double mean) {
    return std::isfinite(mean) && is_too_large(mean * ranks, dtype);
  };
  if (!std::ranges::any_of(means, overflows)) return std::nullopt;
  return overflowing_sum(ranks, dtype);
}

}  // namespace lockstep::grader
