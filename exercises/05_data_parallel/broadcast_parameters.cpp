// Task: make the replicas equal before the first step. Every rank has built the same architecture,
// but its numbers may differ: another seed, or a file that one rank alone has read. Afterwards, the
// parameters and buffers of all ranks are those of the source, bit for bit, in the existing
// tensors. Buffers belong to the model though no gradient changes them, and some are integers.
// The contract stands in engine/replicas/broadcast_parameters.hpp.
#include "engine/replicas/broadcast_parameters.hpp"

#include "engine/base/error.hpp"

namespace lockstep::replicas {

void broadcast_parameters(comm::ProcessGroup& group, nn::Module& model, int source) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)group, (void)model, (void)source;
  throw NotImplemented("broadcast_parameters");
  // <<< your code
}

}  // namespace lockstep::replicas
