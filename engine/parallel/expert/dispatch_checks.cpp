// The checks of dispatch_and_combine, before anything is sent.
#include "engine/base/error.hpp"
#include "engine/parallel/expert/dispatch_and_combine.hpp"

namespace lockstep::expert_parallel {

void check_dispatch(const comm::ProcessGroup& group, const SlotPlan& plan, const Value& tokens,
                    const Value& weights) {
  const std::int64_t ranks = group.size();
  LOCKSTEP_CHECK(plan.experts >= 1 && plan.experts % ranks == 0,
                 "dispatch_and_combine: ", plan.experts, " experts do not divide among ", ranks,
                 " ranks; all ranks have the same number of them");
  LOCKSTEP_CHECK(tokens.tensor.shape().size() == 2 && tokens.tensor.size(0) == plan.tokens,
                 "dispatch_and_combine: tokens of shape ", text_of(tokens.tensor.shape()),
                 " and a plan of ", plan.tokens, "; expected [", plan.tokens, ", width]");
  LOCKSTEP_CHECK(weights.tensor.numel() == std::ssize(plan.placed),
                 "dispatch_and_combine: ", weights.tensor.numel(), " weights of the ",
                 plan.placed.size(), " places of a plan; expected one each");
}

}  // namespace lockstep::expert_parallel
