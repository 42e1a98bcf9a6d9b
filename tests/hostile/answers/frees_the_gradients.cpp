// exercise: average_gradients
// verdict: wrong answer
// says: lost its gradient
// Frees the gradients.
#include "engine/parallel/data_parallel/average_gradients.hpp"

namespace lockstep::data_parallel {

void average_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  for (Parameter* parameter : parameters) parameter->grad = Tensor();
  group.barrier();
}

}  // namespace lockstep::data_parallel
