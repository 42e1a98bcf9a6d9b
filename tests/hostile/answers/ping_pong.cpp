// exercise: ring_all_reduce
// verdict: traffic limit
// says: Does a loop run too often
// Two ranks exchange one element endlessly.
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void ring_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  (void)op;
  while (peers.size() > 1 && data.numel() > 0 && peers.rank() < 2) {
    comm::Work sending = peers.isend(data.narrow(0, 1), 1 - peers.rank());
    peers.recv(data.empty_like(1), 1 - peers.rank());
    sending.wait();
  }
}

}  // namespace lockstep::collectives
