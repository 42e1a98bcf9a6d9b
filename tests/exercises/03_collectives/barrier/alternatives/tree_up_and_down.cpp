// A binomial tree that reports to rank 0, and back.
#include "engine/collectives/barrier.hpp"

namespace lockstep::collectives {

void barrier(comm::Peers& peers, const Tensor& token) {
  const int rank = peers.rank(), size = peers.size();
  const Tensor arrived = token.empty_like(1);
  int bit = 1;
  for (; bit < size && (rank & bit) == 0; bit *= 2) {
    if (rank + bit < size) peers.recv(arrived, rank + bit);
  }
  if (rank != 0) {
    peers.send(token, rank - bit);
    peers.recv(arrived, rank - bit);
  }
  for (bit /= 2; bit > 0; bit /= 2) {
    if (rank + bit < size) peers.send(token, rank + bit);
  }
}

}  // namespace lockstep::collectives
