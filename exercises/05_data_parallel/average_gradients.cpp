// Task: each rank computed gradients from its own samples. Replace each gradient by its mean over
// the group, so that all replicas take the same step. Multiply by 1/N before you sum: the sum of N
// large gradients can overflow where their mean fits. A parameter that no rank used has an
// undefined gradient and keeps it. The group may be smaller than the world. The contract is in
// engine/parallel/data_parallel/average_gradients.hpp.
#include "engine/parallel/data_parallel/average_gradients.hpp"

#include "engine/base/error.hpp"

namespace lockstep::data_parallel {

void average_gradients(comm::ProcessGroup& group, std::span<Parameter* const> parameters) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)parameters;
  throw NotImplemented("average_gradients");
  // <<< your code
}

}  // namespace lockstep::data_parallel
