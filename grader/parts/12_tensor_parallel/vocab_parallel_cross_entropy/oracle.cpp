#include "grader/parts/12_tensor_parallel/vocab_parallel_cross_entropy/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "grader/judge/compare.hpp"
#include "grader/judge/wrong_number.hpp"

namespace lockstep::grader::vocab_parallel_cross_entropy {
namespace {

using Numbers = std::vector<double>;

// The largest of these logits; NaN if one is.
double largest(std::span<const double> logits) {
  double most = -std::numeric_limits<double>::infinity();
  for (const double z : logits) {
    if (std::isnan(z)) return z;
    most = std::max(most, z);
  }
  return most;
}

}  // namespace

Loss right_loss(const Problem& p, const Call& call) {
  const std::size_t columns = at(p.vocabulary), width = at(p.columns() * p.ranks());
  const auto kept = std::ranges::count_if(
      call.labels, [&](std::int64_t label) { return label != p.ignored_label; });
  const bool mean = p.reduction == ops::Reduction::mean;
  const double weight = mean ? 1 / static_cast<double>(kept) : 1;
  Loss right;
  right.gradient.resize(call.labels.size() * columns);
  for (std::size_t row = 0; row < call.labels.size(); ++row) {
    if (call.labels[row] == p.ignored_label) continue;
    const std::span<const double> logits(call.logits.data() + row * width, columns);
    const std::size_t label = at(call.labels[row]);
    const double most = largest(logits);
    double sum = 0;
    for (const double z : logits) sum += std::exp(z - most);
    right.loss += weight * (std::log(sum) + (most - logits[label]));
    for (std::size_t c = 0; c < columns; ++c) {
      right.gradient[row * columns + c] =
          weight * call.gradient * (std::exp(logits[c] - most) / sum - (c == label ? 1 : 0));
    }
  }
  return right;
}

double tolerance_of(const Problem& p, const Call& call, double loss) {
  double most = std::max(1.0, std::fabs(loss));
  for (const double z : call.logits) {
    if (std::isfinite(z)) most = std::max(most, std::fabs(z));
  }
  const auto rows = static_cast<double>(call.labels.size());
  if (p.reduction == ops::Reduction::sum) most *= rows;
  // A logarithm, an exponential for each column, and two sums in another order.
  return p.dtype == DType::float64 ? 1e-13 * most : 1e-6 * most;
}

std::vector<double> tolerance_of(const Problem& p, const std::vector<double>& gradient) {
  Numbers all;
  for (const double value : gradient) {
    const double size = std::fabs(value);
    all.push_back(p.dtype == DType::float64 ? 1e-12 * std::max(1e-3, size)
                                            : 1e-6 + (1e-5 + 2 * epsilon_of(p.dtype)) * size);
  }
  return all;
}

Cause cause_of_loss(double right, double seen) {
  if (!std::isfinite(seen) && std::isfinite(right)) {
    return {"overflow",
            "an exponential of a large number, the log of a sum that has become 0, or a column of "
            "padding: exponentials are taken from the maximum of the whole row, over all ranks"};
  }
  if (std::fabs(seen - right) <= 1e-5 * std::max(1.0, std::fabs(right))) {
    return {"last_digits",
            "only the last digits are wrong: on the way, a number went through a "
            "smaller type"};
  }
  return with_relation({"other_loss",
                        "compare with the whole row's, after wait(): its maximum; the sums over "
                        "the ranks of the exponentials, and of the label's logit (0 elsewhere)"},
                       seen, right);
}

}  // namespace lockstep::grader::vocab_parallel_cross_entropy
