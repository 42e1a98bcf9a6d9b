// Task: make the replicas equal before the first step. Every rank built the same architecture, but
// the numbers in it may differ: another seed, or a file that one rank alone has read. Afterwards
// parameters and buffers of all ranks are those of the source, bit for bit, in the tensors that
// were there. Buffers are part of the model though no gradient moves them, and some are integers.
// The contract stands in engine/replicas/broadcast_parameters.hpp.
#include "engine/replicas/broadcast_parameters.hpp"

#include "engine/base/error.hpp"

namespace lockstep::replicas {

void broadcast_parameters(comm::ProcessGroup& group, nn::Module& model, int source) {
  // >>> your code
  // Only keeps the compiler from warning of parameters not used yet.
  (void)group, (void)model, (void)source;
  throw NotImplemented("broadcast_parameters");
  // <<< your code
}

}  // namespace lockstep::replicas
