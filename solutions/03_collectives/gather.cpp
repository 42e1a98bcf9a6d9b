// Task: every rank brings a block of B elements, and the root collects them in the order of the
// ranks, its own by a copy. All other ranks hold an empty `all`. The order of arrival does not
// matter, because each block has its place. The contract is in engine/collectives/gather.hpp.
#include "engine/collectives/gather.hpp"

namespace lockstep::collectives {

void gather(comm::Peers& peers, const Tensor& mine, Tensor all, int root) {
  // >>> your code
  if (peers.rank() != root) {
    peers.send(mine, root);
  } else {
    for (int rank = 0; rank < peers.size(); ++rank) {
      const Tensor block = all.narrow(rank * mine.numel(), mine.numel());
      if (rank == root) {
        block.copy_(mine);
      } else {
        peers.recv(block, rank);
      }
    }
  }
  // <<< your code
}

}  // namespace lockstep::collectives
