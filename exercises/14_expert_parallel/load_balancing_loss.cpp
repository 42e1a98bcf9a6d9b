// Task: the loss that keeps experts equally busy, over the tokens of all ranks, and its gradient.
// The contract is in engine/parallel/expert/load_balancing_loss.hpp.
#include "engine/parallel/expert/load_balancing_loss.hpp"

#include <cstddef>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::expert_parallel {

BalancingLoss load_balancing_loss(comm::ProcessGroup& group, const Tensor& probabilities,
                                  std::span<const std::int64_t> first_choices, double alpha) {
  LOCKSTEP_CHECK(
      probabilities.shape().size() == 2 && probabilities.size(0) == std::ssize(first_choices),
      "load_balancing_loss: probabilities of shape ", text_of(probabilities.shape()),
      " and first choices of ", first_choices.size(), " tokens; expected [", first_choices.size(),
      ", experts]");
  const std::int64_t experts = probabilities.size(1);
  for (const std::int64_t expert : first_choices) {
    LOCKSTEP_CHECK(expert >= 0 && expert < experts,
                   "load_balancing_loss: a first choice is expert ", expert, " of ", experts,
                   "; experts count from 0");
  }
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)probabilities, (void)first_choices, (void)alpha;
  throw NotImplemented("load_balancing_loss");
  // <<< your code
}

}  // namespace lockstep::expert_parallel
