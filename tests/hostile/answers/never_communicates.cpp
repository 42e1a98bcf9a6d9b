// exercise: ring_all_reduce
// verdict: wrong answer
// says: nothing was added
// Every rank keeps its own data.
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void ring_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  (void)peers, (void)data, (void)op;
}

}  // namespace lockstep::collectives
