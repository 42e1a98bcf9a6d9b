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
  // Avoids warnings about parameters that are not used yet.
  (void)logits, (void)k;
  throw NotImplemented("top_k_router");
  // <<< your code
}

}  // namespace lockstep::expert_parallel
