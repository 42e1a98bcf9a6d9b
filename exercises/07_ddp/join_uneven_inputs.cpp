// Task: an epoch in which ranks run out of batches at different steps. In step_with_join, find out
// how many ranks still have a batch. A rank without one contributes zeros to their reduction
// (model.shadow()). The sum is divided by the number of all ranks or of the live ranks, as
// state.divide says. In end_join, the rank that was last to join broadcasts its parameters.
// The contract is in engine/parallel/ddp/join.hpp; shadow and divide_by are in
// engine/parallel/ddp/ddp.hpp.
#include "engine/parallel/ddp/join.hpp"

#include "engine/base/error.hpp"
#include "engine/parallel/ddp/accumulate_step.hpp"
#include "engine/replicas/broadcast_parameters.hpp"

namespace lockstep::ddp {
namespace {

// >>> your code
// <<< your code

}  // namespace

int step_with_join(comm::ProcessGroup& group, Ddp& model, optim::Optimizer& optimizer,
                   std::span<const data::Batch> mine, JoinState& state) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)model, (void)optimizer, (void)mine, (void)state;
  throw NotImplemented("join_uneven_inputs");
  // <<< your code
}

int end_join(comm::ProcessGroup& group, Ddp& model, const JoinState& state) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)model, (void)state;
  throw NotImplemented("join_uneven_inputs");
  // <<< your code
}

}  // namespace lockstep::ddp
