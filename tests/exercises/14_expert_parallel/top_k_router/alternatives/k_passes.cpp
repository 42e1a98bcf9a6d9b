// K passes, each of which looks for the best expert that is left. The softmax is computed over all
// experts, and divided by the sum of what was chosen.
#include <cmath>
#include <cstddef>

#include "engine/base/error.hpp"
#include "engine/parallel/expert/top_k_router.hpp"

namespace lockstep::expert_parallel {

std::vector<Route> route(const Tensor& logits, std::int64_t k) {
  LOCKSTEP_CHECK(logits.shape().size() == 2 && k >= 1 && k <= logits.size(1), "K is ", k);
  const std::int64_t tokens = logits.size(0), experts = logits.size(1);
  std::vector<Route> routes;
  for (std::int64_t token = 0; token < tokens; ++token) {
    std::vector<double> row;
    for (std::int64_t e = 0; e < experts; ++e) {
      row.push_back(logits.item(token * experts + e));
      if (!std::isfinite(row.back())) throw Error(text("token ", token, " has no logit"));
    }
    std::vector<bool> taken(row.size());
    const std::size_t first = routes.size();
    for (std::int64_t choice = 0; choice < k; ++choice) {
      std::size_t best = row.size();
      for (std::size_t e = 0; e < row.size(); ++e) {
        if (!taken[e] && (best == row.size() || row[e] > row[best])) best = e;
      }
      taken[best] = true;
      routes.push_back({token, static_cast<std::int64_t>(best), choice, 0});
    }
    const double most = row[static_cast<std::size_t>(routes[first].expert)];
    double all = 0, chosen = 0;
    for (const double logit : row) all += std::exp(logit - most);
    for (std::size_t i = first; i < routes.size(); ++i) {
      Route& one = routes[i];
      one.weight = std::exp(row[static_cast<std::size_t>(one.expert)] - most) / all;
      chosen += one.weight;
    }
    for (std::size_t i = first; k > 1 && i < routes.size(); ++i) routes[i].weight /= chosen;
  }
  return routes;
}

}  // namespace lockstep::expert_parallel
