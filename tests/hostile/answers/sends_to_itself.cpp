// exercise: ring_all_reduce
// verdict: crash
// says: itself
// Sends to its own rank.
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void ring_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  (void)op;
  peers.send(data, peers.rank());
}

}  // namespace lockstep::collectives
