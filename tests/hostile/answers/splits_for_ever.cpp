// exercise: average_gradients
// verdict: traffic limit
// says: Does a loop run too often
// Creates groups endlessly.
#include "engine/parallel/data_parallel/average_gradients.hpp"

namespace lockstep::data_parallel {

void average_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  (void)parameters;
  while (true) static_cast<void>(group.split(0, 0));
}

}  // namespace lockstep::data_parallel
