// Task: the root holds N blocks of B elements and sends block r to rank r; it copies its own. All
// other ranks hold an empty `all`. The contract is in engine/collectives/scatter.hpp.
#include "engine/collectives/scatter.hpp"

namespace lockstep::collectives {

void scatter(comm::Peers& peers, const Tensor& all, Tensor mine, int root) {
  // >>> your code
  if (peers.rank() != root) {
    peers.recv(mine, root);
  } else {
    for (int rank = 0; rank < peers.size(); ++rank) {
      const Tensor block = all.narrow(rank * mine.numel(), mine.numel());
      if (rank == root) {
        mine.copy_(block);
      } else {
        peers.send(block, rank);
      }
    }
  }
  // <<< your code
}

}  // namespace lockstep::collectives
