// Dissemination to the left, the receive posted first.
#include "engine/collectives/barrier.hpp"

namespace lockstep::collectives {

void barrier(comm::Peers& peers, const Tensor& token) {
  const int rank = peers.rank(), size = peers.size();
  const Tensor heard = token.empty_like(1);
  for (int far = 1; far < size; far *= 2) {
    comm::Work receiving = peers.irecv(heard, (rank + far) % size, far);
    peers.send(token, (rank - far + size) % size, far);
    receiving.wait();
  }
}

}  // namespace lockstep::collectives
