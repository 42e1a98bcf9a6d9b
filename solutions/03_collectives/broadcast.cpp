// Task: broadcast by a binomial tree. The root holds D elements, and every rank must end with
// them. A root that sends to every rank sends N-1 times. In a tree no rank sends more than ⌈log₂N⌉
// times, because every rank that has the data helps. Any rank can be the root: count places from
// it, so that it is place 0. N need not be a power of two. The contract is in
// engine/collectives/broadcast.hpp.
#include "engine/collectives/broadcast.hpp"

namespace lockstep::collectives {

void broadcast(comm::Peers& peers, Tensor data, int root) {
  // >>> your code
  const int size = peers.size();
  const int place = (peers.rank() - root + size) % size;  // counted from the root
  const auto rank_at = [&](int at) { return (at + root) % size; };

  // A place that is k·2^i with k odd gets the data from the place 2^i below it; the root, 0, has no
  // such bit and goes beyond all of them.
  int bit = 1;
  while (bit < size && (place & bit) == 0) bit *= 2;
  if (bit < size) peers.recv(data, rank_at(place - bit));

  // It then serves those above it, farthest first: they have the most to serve themselves.
  for (bit /= 2; bit > 0; bit /= 2) {
    if (place + bit < size) peers.send(data, rank_at(place + bit));
  }
  // <<< your code
}

}  // namespace lockstep::collectives
