// exercise: average_gradients
// verdict: traffic limit
// says: Does a loop run too often
// Calls barriers endlessly: no byte is sent.
#include "engine/parallel/data_parallel/average_gradients.hpp"

namespace lockstep::data_parallel {

void average_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  (void)parameters;
  while (true) group.barrier();
}

}  // namespace lockstep::data_parallel
