// Counts are reduced as integers, sums of probabilities as doubles. The number of tokens is the sum
// of the counts.
#include <cstddef>
#include <numeric>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/expert/load_balancing_loss.hpp"

namespace lockstep::expert_parallel {

BalancingLoss load_balancing_loss(comm::ProcessGroup& group, const Tensor& probabilities,
                                  std::span<const std::int64_t> first_choices, double alpha) {
  LOCKSTEP_CHECK(probabilities.shape().size() == 2, "probabilities of another shape");
  const std::int64_t tokens = probabilities.size(0), experts = probabilities.size(1);
  LOCKSTEP_CHECK(tokens == std::ssize(first_choices), "not a choice for each token");
  Device& host = probabilities.device().host();
  const Tensor chosen = zeros({experts}, DType::int64, host);
  const Tensor shares = zeros({experts}, DType::float64, host);
  const auto times = chosen.data<std::int64_t>();
  const auto sums = shares.data<double>();
  for (const std::int64_t expert : first_choices) {
    LOCKSTEP_CHECK(0 <= expert && expert < experts, "no expert ", expert);
    ++times[static_cast<std::size_t>(expert)];
  }
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t e = 0; e < experts; ++e) {
      sums[static_cast<std::size_t>(e)] += probabilities.item(t * experts + e);
    }
  }
  group.all_reduce(chosen, ReduceOp::sum);
  group.all_reduce(shares, ReduceOp::sum);
  const auto all =
      static_cast<double>(std::accumulate(times.begin(), times.end(), std::int64_t{0}));
  std::vector<double> values(static_cast<std::size_t>(tokens * experts));
  BalancingLoss made;
  for (std::size_t e = 0; e < sums.size(); ++e) {
    const double slope =
        alpha * static_cast<double>(experts) * static_cast<double>(times[e]) / (all * all);
    made.loss += slope * sums[e];
    for (std::size_t i = e; i < values.size(); i += sums.size()) values[i] = slope;
  }
  made.gradient =
      from_values(values, {tokens, experts}, probabilities.dtype(), probabilities.device());
  return made;
}

}  // namespace lockstep::expert_parallel
