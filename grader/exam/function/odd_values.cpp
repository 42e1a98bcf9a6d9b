#include "grader/exam/function/odd_values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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

}  // namespace lockstep::grader
