// A bitmap of one byte a parameter, combined by max; grads are kept for all parameters.
#include <algorithm>

#include "engine/parallel/ddp/unused_parameters.hpp"

namespace lockstep::ddp {

UnusedPass begin_with_unused(comm::ProcessGroup& group, Reducer& reducer,
                             std::span<Parameter* const> parameters,
                             std::span<const std::uint8_t> used_here) {
  UnusedPass pass;
  Device& host = parameters.front()->value.device().host();
  pass.users = empty({std::ssize(parameters)}, DType::uint8, host);
  std::ranges::copy(used_here, pass.users.data<std::uint8_t>().begin());
  for (const Parameter* parameter : parameters) {
    pass.kept.push_back(parameter->grad.defined() ? parameter->grad.clone() : Tensor());
  }
  pass.work = group.all_reduce_async(pass.users, ReduceOp::max);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (used_here[i] == 0) reducer.on_gradient_ready(i);
  }
  return pass;
}

void end_with_unused(UnusedPass pass, std::span<Parameter* const> parameters) {
  pass.work.wait();
  const auto used = pass.users.data<std::uint8_t>();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (used[i] == 0) parameters[i]->grad = pass.kept[i];
  }
}

}  // namespace lockstep::ddp
