// A rank that has run out updates its replica, too: after shadow() it has the same gradients as the
// others. So the replicas never differ, and nothing travels in the end but a rank.
#include "engine/parallel/ddp/accumulate_step.hpp"
#include "engine/parallel/ddp/join.hpp"

namespace lockstep::ddp {
namespace {

std::int64_t combined(comm::ProcessGroup& group, Ddp& model, std::int64_t mine, ReduceOp op) {
  const Tensor one = full({1}, static_cast<double>(mine), DType::int64,
                          model.parameters().front()->value.device().host());
  group.all_reduce(one, op);
  return one.data<std::int64_t>()[0];
}

}  // namespace

int step_with_join(comm::ProcessGroup& group, Ddp& model, optim::Optimizer& optimizer,
                   std::span<const data::Batch> mine, JoinState& state) {
  const auto live = static_cast<int>(combined(group, model, mine.empty() ? 0 : 1, ReduceOp::sum));
  if (live > 0) {
    model.divide_by(state.divide == JoinDivide::initial ? group.size() : live);
    if (!mine.empty()) {
      accumulate_step(model, optimizer, mine);
    } else {
      state.shadowed = 1;
      model.shadow();
      optimizer.step();
    }
  }
  return live;
}

int end_join(comm::ProcessGroup& group, Ddp& model, const JoinState& state) {
  const std::int64_t mine = state.shadowed > 0 ? -1 : group.rank();
  const auto last = static_cast<int>(combined(group, model, mine, ReduceOp::max));
  for (nn::Buffer* buffer : model.buffers()) group.broadcast(buffer->value, last);
  return last;
}

}  // namespace lockstep::ddp
