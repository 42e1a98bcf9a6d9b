// Task: choose K experts for each token by its logits, and say with which weights their results are
// added up. The contract is in engine/parallel/expert/top_k_router.hpp.
#include "engine/parallel/expert/top_k_router.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "engine/base/error.hpp"

namespace lockstep::expert_parallel {

std::vector<Route> route(const Tensor& logits, std::int64_t k) {
  LOCKSTEP_CHECK(logits.shape().size() == 2, "route: logits have shape ", text_of(logits.shape()),
                 ", expected [tokens, experts]");
  const std::int64_t experts = logits.size(1);
  LOCKSTEP_CHECK(k >= 1 && k <= experts, "route: ", k, " choices among ", experts,
                 " experts; a token chooses 1 to ", experts, " of them");
  for (std::int64_t i = 0; i < logits.numel(); ++i) {
    if (std::isfinite(logits.item(i))) continue;
    throw Error(text("route: the logit of token ", i / experts, " for expert ", i % experts, " is ",
                     logits.item(i), "; has the training diverged?"));
  }
  // >>> your code
  const std::int64_t tokens = logits.size(0);
  std::vector<Route> routes;
  std::vector<std::int64_t> order(static_cast<std::size_t>(experts));
  for (std::int64_t token = 0; token < tokens; ++token) {
    const auto logit = [&](std::int64_t expert) { return logits.item(token * experts + expert); };
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::ranges::stable_sort(order, [&](auto a, auto b) { return logit(a) > logit(b); });
    const auto share = [&](std::int64_t expert) {
      return std::exp(logit(expert) - logit(order[0]));
    };
    double sum = 0;
    for (std::int64_t i = 0; i < (k == 1 ? experts : k); ++i) {
      sum += share(order[static_cast<std::size_t>(i)]);
    }
    for (std::int64_t choice = 0; choice < k; ++choice) {
      const std::int64_t expert = order[static_cast<std::size_t>(choice)];
      routes.push_back({token, expert, choice, share(expert) / sum});
    }
  }
  return routes;
  // <<< your code
}

}  // namespace lockstep::expert_parallel
