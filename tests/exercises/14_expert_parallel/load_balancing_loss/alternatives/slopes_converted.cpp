// The sums are kept in a vector and reduced at once; the slopes are written in float64 and then
// converted to the type of the probabilities.
#include <cstddef>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/expert/load_balancing_loss.hpp"

namespace lockstep::expert_parallel {

BalancingLoss load_balancing_loss(comm::ProcessGroup& group, const Tensor& probabilities,
                                  std::span<const std::int64_t> first_choices, double alpha) {
  LOCKSTEP_CHECK(probabilities.shape().size() == 2, "not [tokens, experts]");
  const auto experts = static_cast<std::size_t>(probabilities.size(1));
  LOCKSTEP_CHECK(probabilities.size(0) == std::ssize(first_choices), "tokens and choices differ");
  std::vector<double> mine(2 * experts + 1);
  for (const std::int64_t expert : first_choices) {
    LOCKSTEP_CHECK(expert >= 0 && expert < probabilities.size(1), "expert ", expert);
    mine[static_cast<std::size_t>(expert)] += 1;
    mine.back() += 1;
  }
  for (std::int64_t i = 0; i < probabilities.numel(); ++i) {
    mine[experts + static_cast<std::size_t>(i) % experts] += probabilities.item(i);
  }
  Device& host = probabilities.device().host();
  const Tensor sums = from_values(mine, {std::ssize(mine)}, DType::float64, host);
  group.all_reduce(sums, ReduceOp::sum);
  const auto all = sums.data<double>();
  BalancingLoss made;
  made.gradient = empty(probabilities.shape(), probabilities.dtype(), host);
  const Tensor slopes = zeros(probabilities.shape(), DType::float64, host);
  for (std::size_t e = 0; e < experts; ++e) {
    const double f = all[e] / all.back(), p = all[experts + e] / all.back();
    made.loss += f * p;
    for (std::size_t i = e; i < slopes.data<double>().size(); i += experts) {
      slopes.data<double>()[i] = alpha * static_cast<double>(experts) * f / all.back();
    }
  }
  made.loss *= alpha * static_cast<double>(experts);
  made.gradient.convert_(slopes);
  return made;
}

}  // namespace lockstep::expert_parallel
