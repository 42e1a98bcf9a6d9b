// Each expert looks for its best token that is left, as often as it has slots. The probability
// comes from the logarithm of the sum of exponentials.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "engine/base/error.hpp"
#include "engine/parallel/expert/expert_choice.hpp"

namespace lockstep::expert_parallel {

SlotPlan expert_choice(const Tensor& logits, double capacity_factor) {
  LOCKSTEP_CHECK(logits.shape().size() == 2 && logits.size(1) > 0, "not [tokens, experts]");
  LOCKSTEP_CHECK(capacity_factor > 0 && capacity_factor < INFINITY, "factor ", capacity_factor);
  const std::int64_t tokens = logits.size(0), experts = logits.size(1);
  std::vector<double> log_sums;
  for (std::int64_t token = 0; token < tokens; ++token) {
    double most = -INFINITY, sum = 0;
    for (std::int64_t e = 0; e < experts; ++e) {
      const double logit = logits.item(token * experts + e);
      if (!(std::fabs(logit) < INFINITY)) throw Error(text("token ", token, " has ", logit));
      most = std::max(most, logit);
    }
    for (std::int64_t e = 0; e < experts; ++e) {
      sum += std::exp(logits.item(token * experts + e) - most);
    }
    log_sums.push_back(most + std::log(sum));
  }
  const double room = static_cast<double>(tokens) * capacity_factor / static_cast<double>(experts);
  SlotPlan plan{tokens, experts, std::min(tokens, rounded_up(room)), {}};
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    std::vector<double> left;
    for (std::int64_t token = 0; token < tokens; ++token) {
      const double log_sum = log_sums[static_cast<std::size_t>(token)];
      left.push_back(std::exp(logits.item(token * experts + expert) - log_sum));
    }
    for (std::int64_t slot = 0; slot < plan.capacity; ++slot) {
      const auto best = std::max_element(left.begin(), left.end());
      plan.placed.push_back({best - left.begin(), expert, 0, *best});
      *best = -1;
    }
  }
  return plan;
}

}  // namespace lockstep::expert_parallel
