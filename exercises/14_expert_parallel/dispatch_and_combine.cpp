// Task: send tokens to the ranks of the experts that they have chosen, compute with this rank's
// experts, send the results back, weigh them and add them up. The contract is in
// engine/parallel/expert/dispatch_and_combine.hpp.
#include "engine/parallel/expert/dispatch_and_combine.hpp"

#include <cstddef>
#include <numeric>
#include <vector>

#include "engine/autograd/operations.hpp"
#include "engine/base/error.hpp"
#include "engine/parallel/expert/exchange_rows.hpp"

namespace lockstep::expert_parallel {

// >>> your code
// <<< your code

Value dispatch_and_combine(Tape& tape, comm::ProcessGroup& group, const SlotPlan& plan,
                           const Value& tokens, const Value& weights, const Experts& mine) {
  check_dispatch(group, plan, tokens, weights);
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)tape, (void)group, (void)plan, (void)tokens, (void)weights, (void)mine;
  throw NotImplemented("dispatch_and_combine");
  // <<< your code
}

}  // namespace lockstep::expert_parallel
