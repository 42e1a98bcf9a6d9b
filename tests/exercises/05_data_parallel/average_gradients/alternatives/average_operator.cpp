// The operator that multiplies by 1/N before it sums.
#include "engine/parallel/data_parallel/average_gradients.hpp"

namespace lockstep::data_parallel {

void average_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  for (const Parameter* parameter : parameters) {
    if (parameter->grad.defined()) group.all_reduce(parameter->grad, ReduceOp::average);
  }
}

}  // namespace lockstep::data_parallel
