// exercise: average_gradients
// verdict: wrong answer
// says: this value is not finite
// Returns NaN, which is never close enough.
#include <cmath>
#include "engine/parallel/data_parallel/average_gradients.hpp"

namespace lockstep::data_parallel {

void average_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  for (const Parameter* parameter : parameters) {
    if (parameter->grad.defined()) parameter->grad.scale_(std::nan(""));
  }
  group.barrier();
}

}  // namespace lockstep::data_parallel
