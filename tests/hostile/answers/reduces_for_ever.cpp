// exercise: average_gradients
// verdict: traffic limit
// says: Does a loop run too often
// Averages endlessly.
#include "engine/parallel/data_parallel/average_gradients.hpp"

namespace lockstep::data_parallel {

void average_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  while (true) {
    for (const Parameter* parameter : parameters) {
      group.all_reduce(parameter->grad.view({parameter->grad.numel()}), ReduceOp::sum);
    }
  }
}

}  // namespace lockstep::data_parallel
