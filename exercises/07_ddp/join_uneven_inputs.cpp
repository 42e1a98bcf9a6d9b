// Task: an epoch in which ranks run out of batches at different steps. In step_with_join, find out
// how many ranks still have a batch; a rank without one takes part in their reduction with zeros
// (model.shadow()), and the sum is divided by all ranks or by the live ones, as state.divide says.
// In end_join, the rank that was last to join gives its parameters to all.
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
