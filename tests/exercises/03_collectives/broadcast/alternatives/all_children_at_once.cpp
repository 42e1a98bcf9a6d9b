// All sends are started, and waited for at the end.
#include "engine/collectives/broadcast.hpp"

namespace lockstep::collectives {

void broadcast(comm::Peers& peers, Tensor data, int root) {
  const int size = peers.size();
  const int place = (peers.rank() - root + size) % size;  // counted from the root
  const auto rank_at = [&](int at) { return (at + root) % size; };

  // A place that is k·2^i with k odd gets the data from the place 2^i below it; the root, 0, has no
  // such bit and goes beyond all of them.
  int bit = 1;
  while (bit < size && (place & bit) == 0) bit *= 2;
  if (bit < size) peers.recv(data, rank_at(place - bit));

  // It then serves those above it, farthest first: they have the most to serve themselves.
  comm::Work works[32];
  int n = 0;
  for (bit /= 2; bit > 0; bit /= 2) {
    if (place + bit < size) works[n++] = peers.isend(data, rank_at(place + bit));
  }
  while (n > 0) works[--n].wait();
}

}  // namespace lockstep::collectives
