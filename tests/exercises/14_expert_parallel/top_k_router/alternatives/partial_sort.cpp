// Pairs of a negated logit and an expert are sorted, of which the K smallest come first: equal
// logits are in the order of experts by themselves.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/parallel/expert/top_k_router.hpp"

namespace lockstep::expert_parallel {

std::vector<Route> route(const Tensor& logits, std::int64_t k) {
  LOCKSTEP_CHECK(logits.shape().size() == 2, "logits of another shape");
  const std::int64_t experts = logits.size(1);
  LOCKSTEP_CHECK(k > 0 && k <= experts, k, " of ", experts);
  std::vector<Route> routes;
  for (std::int64_t first = 0; first < logits.numel(); first += experts) {
    const std::int64_t token = first / experts;
    std::vector<std::pair<double, std::int64_t>> row;
    for (std::int64_t e = 0; e < experts; ++e) row.emplace_back(-logits.item(first + e), e);
    for (const auto& [logit, unused] : row) {
      if (std::isnan(logit) || std::isinf(logit)) throw Error(text("token ", token, ": ", logit));
    }
    std::partial_sort(row.begin(), row.begin() + k, row.end());
    const auto counted = static_cast<std::size_t>(k == 1 ? experts : k);
    double sum = 0;
    for (std::size_t i = 0; i < counted; ++i) sum += std::exp(row[0].first - row[i].first);
    for (std::int64_t choice = 0; choice < k; ++choice) {
      const auto& [logit, expert] = row[static_cast<std::size_t>(choice)];
      routes.push_back({token, expert, choice, std::exp(row[0].first - logit) / sum});
    }
  }
  return routes;
}

}  // namespace lockstep::expert_parallel
