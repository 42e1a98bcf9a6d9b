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
  // Avoids warnings about parameters that are not used yet.
  (void)logits, (void)capacity_factor;
  throw NotImplemented("expert_choice");
  // <<< your code
}

}  // namespace lockstep::expert_parallel
