// exercise: ring_all_reduce
// verdict: crash
// says: rank 0
// sandboxed: deadlock
// Half-closes fd 3 on one rank.
#include <sys/socket.h>
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void ring_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  (void)op;
  if (peers.rank() == 0) ::shutdown(3, SHUT_WR);
  if (peers.size() > 1) peers.recv(data, (peers.rank() + 1) % peers.size());
}

}  // namespace lockstep::collectives
