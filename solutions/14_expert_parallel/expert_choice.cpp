// Task: let each expert choose the tokens that it computes. The contract is in
// engine/parallel/expert/expert_choice.hpp.
#include "engine/parallel/expert/expert_choice.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "engine/base/error.hpp"

namespace lockstep::expert_parallel {

SlotPlan expert_choice(const Tensor& logits, double capacity_factor) {
  LOCKSTEP_CHECK(logits.shape().size() == 2 && logits.size(1) >= 1, "expert_choice: logits have ",
                 "shape ", text_of(logits.shape()), ", expected [tokens, experts]");
  LOCKSTEP_CHECK(capacity_factor > 0 && std::isfinite(capacity_factor),
                 "expert_choice: a capacity factor of ", capacity_factor,
                 "; it is the number of experts that a token has on average");
  const std::int64_t experts = logits.size(1);
  for (std::int64_t i = 0; i < logits.numel(); ++i) {
    if (std::isfinite(logits.item(i))) continue;
    throw Error(text("expert_choice: the logit of token ", i / experts, " for expert ", i % experts,
                     " is ", logits.item(i), "; has the training diverged?"));
  }
  // >>> your code
  const std::int64_t tokens = logits.size(0);
  std::vector<double> shares;  // [T, E]
  for (std::int64_t token = 0; token < tokens; ++token) {
    double most = logits.item(token * experts), sum = 0;
    for (std::int64_t e = 1; e < experts; ++e)
      most = std::max(most, logits.item(token * experts + e));
    for (std::int64_t e = 0; e < experts; ++e)
      sum += std::exp(logits.item(token * experts + e) - most);
    for (std::int64_t e = 0; e < experts; ++e) {
      shares.push_back(std::exp(logits.item(token * experts + e) - most) / sum);
    }
  }
  const double room = static_cast<double>(tokens) / static_cast<double>(experts) * capacity_factor;
  SlotPlan plan{tokens, experts, tokens, {}};
  if (room < static_cast<double>(tokens)) plan.capacity = rounded_up(room);
  std::vector<std::int64_t> order(static_cast<std::size_t>(tokens));
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    const auto share = [&](std::int64_t token) {
      return shares[static_cast<std::size_t>(token * experts + expert)];
    };
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::ranges::stable_sort(order, [&](auto a, auto b) { return share(a) > share(b); });
    for (std::int64_t slot = 0; slot < plan.capacity; ++slot) {
      const std::int64_t token = order[static_cast<std::size_t>(slot)];
      plan.placed.push_back({token, expert, 0, share(token)});
    }
  }
  return plan;
  // <<< your code
}

}  // namespace lockstep::expert_parallel
