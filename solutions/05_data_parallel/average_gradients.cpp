// Task: the one line that makes training data parallel. Each rank computed gradients from its own
// samples; replace each gradient by its mean over the group, so that all replicas take the same
// step. Multiply before you sum: the sum of N large gradients may overflow where their mean does not.
// A parameter that no rank used has no gradient and keeps none. The group need not be the world.
// The contract stands in engine/parallel/data_parallel/average_gradients.hpp.
#include "engine/parallel/data_parallel/average_gradients.hpp"

namespace lockstep::data_parallel {

void average_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  // >>> your code
  const double share = 1.0 / group.size();
  for (const Parameter* parameter : parameters) {
    const Tensor& grad = parameter->grad;
    if (!grad.defined()) continue;
    grad.scale_(share);
    group.all_reduce(grad.view({grad.numel()}), ReduceOp::sum);
  }
  // <<< your code
}

}  // namespace lockstep::data_parallel
