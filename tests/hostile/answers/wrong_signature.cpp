// exercise: ring_all_reduce
// verdict: compile error
// says: it defines lockstep::collectives::ring_all_reduce(
// Lacks the operator parameter: the near miss is named.
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void ring_all_reduce(comm::Peers& peers, Tensor data) { (void)peers, (void)data; }

}  // namespace lockstep::collectives
