// exercise: ring_all_reduce
// verdict: time
// says: rank 1
// One rank computes endlessly, and the others wait for it.
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void ring_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  (void)op;
  volatile int turns = 0;
  while (peers.rank() == 1) turns = turns + 1;
  if (peers.size() > 1) peers.recv(data, 1);
}

}  // namespace lockstep::collectives
