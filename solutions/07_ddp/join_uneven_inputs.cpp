// Task: an epoch in which ranks run out of batches at different steps. In step_with_join, find out
// how many ranks still have a batch. A rank without one contributes zeros to their reduction
// (model.shadow()). The sum is divided by the number of all ranks or of the live ranks, as
// state.divide says. In end_join, the rank that was last to join broadcasts its parameters.
// The contract is in engine/parallel/ddp/join.hpp; shadow and divide_by are in
// engine/parallel/ddp/ddp.hpp.
#include "engine/parallel/ddp/join.hpp"

#include "engine/parallel/ddp/accumulate_step.hpp"
#include "engine/replicas/broadcast_parameters.hpp"

namespace lockstep::ddp {
namespace {

// >>> your code
// `mine` of all ranks of the group, combined by `op`.
int agreed(comm::ProcessGroup& group, Ddp& model, int mine, ReduceOp op) {
  Device& host = model.parameters().front()->value.device().host();
  const Tensor word = full({1}, mine, DType::int64, host);
  group.all_reduce(word, op);
  return static_cast<int>(word.item());
}
// <<< your code

}  // namespace

int step_with_join(comm::ProcessGroup& group, Ddp& model, optim::Optimizer& optimizer,
                   std::span<const data::Batch> mine, JoinState& state) {
  // >>> your code
  const int live = agreed(group, model, mine.empty() ? 0 : 1, ReduceOp::sum);
  if (live == 0) return 0;
  model.divide_by(state.divide == JoinDivide::live ? live : group.size());
  if (mine.empty()) {
    ++state.shadowed;
    model.shadow();
  } else {
    ++state.trained;
    accumulate_step(model, optimizer, mine);
  }
  return live;
  // <<< your code
}

int end_join(comm::ProcessGroup& group, Ddp& model, const JoinState& state) {
  // >>> your code
  // Who never shadowed a step trained in the last one.
  const int last = agreed(group, model, state.shadowed == 0 ? group.rank() : -1, ReduceOp::max);
  replicas::broadcast_parameters(group, model, last);
  return last;
  // <<< your code
}

}  // namespace lockstep::ddp
