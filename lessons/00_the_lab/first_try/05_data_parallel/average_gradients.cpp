// A first try at average_gradients, for lesson 00: it adds the gradients and never divides.
#include "engine/parallel/data_parallel/average_gradients.hpp"

namespace lockstep::data_parallel {

void average_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  for (const Parameter* parameter : parameters) {
    if (!parameter->grad.defined()) continue;
    group.all_reduce(parameter->grad, ReduceOp::sum);
  }
}

}  // namespace lockstep::data_parallel
