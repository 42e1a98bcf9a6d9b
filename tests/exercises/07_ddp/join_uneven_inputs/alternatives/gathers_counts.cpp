// Each rank tells what it has by an all-gather, and the last to join is found among the numbers of
// steps that the ranks have trained.
#include "engine/parallel/ddp/accumulate_step.hpp"
#include "engine/parallel/ddp/join.hpp"
#include "engine/replicas/broadcast_parameters.hpp"

namespace lockstep::ddp {
namespace {

std::vector<std::int64_t> of_all(comm::ProcessGroup& group, Ddp& model, std::int64_t mine) {
  Device& host = model.parameters().front()->value.device().host();
  const Tensor own = full({1}, static_cast<double>(mine), DType::int64, host);
  const Tensor all = empty({group.size()}, DType::int64, host);
  group.all_gather(own, all);
  const auto numbers = all.data<std::int64_t>();
  return {numbers.begin(), numbers.end()};
}

}  // namespace

int step_with_join(comm::ProcessGroup& group, Ddp& model, optim::Optimizer& optimizer,
                   std::span<const data::Batch> mine, JoinState& state) {
  int live = 0;
  for (const std::int64_t batches : of_all(group, model, std::ssize(mine))) {
    if (batches > 0) ++live;
  }
  if (live == 0) return 0;
  if (state.divide == JoinDivide::live) model.divide_by(live);
  if (mine.empty()) {
    model.shadow();
  } else {
    accumulate_step(model, optimizer, mine);
    ++state.trained;
  }
  return live;
}

int end_join(comm::ProcessGroup& group, Ddp& model, const JoinState& state) {
  int last = 0;
  const auto trained = of_all(group, model, state.trained);
  for (int rank = 1; rank < group.size(); ++rank) {
    if (trained[static_cast<std::size_t>(rank)] >= trained[static_cast<std::size_t>(last)]) {
      last = rank;
    }
  }
  replicas::broadcast_parameters(group, model, last);
  model.divide_by(group.size());
  return last;
}

}  // namespace lockstep::ddp
