// Each gradient is reduced in the shape it has: a collective looks at elements, not at dimensions.
#include "engine/parallel/data_parallel/average_gradients.hpp"

namespace lockstep::data_parallel {

void average_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  for (const Parameter* parameter : parameters) {
    if (!parameter->grad.defined()) continue;
    parameter->grad.scale_(1.0 / group.size());
    group.all_reduce(parameter->grad, ReduceOp::sum);
  }
}

}  // namespace lockstep::data_parallel
