// Task: a pass in which ranks use different parameters. Before backward, begin_with_unused hands
// the parameters that this rank does not use to the reducer, so that no bucket waits for them, and
// starts one small all-reduce that tells which parameters some rank uses. After backward,
// end_with_unused gives a parameter that no rank used the grad that it had before, or none; with
// zeros, weight decay would move it. Nothing waits before end_with_unused.
// The contract is in engine/parallel/ddp/unused_parameters.hpp; the reducer's is in
// engine/parallel/ddp/reducer.hpp.
#include "engine/parallel/ddp/unused_parameters.hpp"

#include <utility>

namespace lockstep::ddp {

UnusedPass begin_with_unused(comm::ProcessGroup& group, Reducer& reducer,
                             std::span<Parameter* const> parameters,
                             std::span<const std::uint8_t> used_here) {
  // >>> your code
  UnusedPass pass;
  pass.users =
      zeros({std::ssize(parameters)}, DType::int64, parameters.front()->value.device().host());
  const auto users = pass.users.data<std::int64_t>();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    users[i] = used_here[i];
    if (used_here[i] != 0) continue;
    pass.unused.push_back(i);
    // A copy: the grad may be the place in the bucket that is reduced now.
    const Tensor& grad = parameters[i]->grad;
    pass.kept.push_back(grad.defined() ? grad.clone(MemoryKind::gradients) : Tensor());
  }
  // Before the first bucket, which may start below: on every rank in the same order.
  pass.work = group.all_reduce_async(pass.users, ReduceOp::sum);
  for (const std::size_t i : pass.unused) reducer.on_gradient_ready(i);
  return pass;
  // <<< your code
}

void end_with_unused(UnusedPass pass, std::span<Parameter* const> parameters) {
  // >>> your code
  pass.work.wait();
  const auto users = pass.users.data<std::int64_t>();
  for (std::size_t k = 0; k < pass.unused.size(); ++k) {
    const std::size_t i = pass.unused[k];
    if (users[i] == 0) parameters[i]->grad = std::move(pass.kept[k]);
  }
  // <<< your code
}

}  // namespace lockstep::ddp
