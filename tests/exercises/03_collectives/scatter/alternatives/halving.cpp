// Half of the blocks at a time, through ranks that deal on; places are counted from the root.
#include "engine/collectives/scatter.hpp"

namespace lockstep::collectives {

void scatter(comm::Peers& peers, const Tensor& all, Tensor mine, int root) {
  const int size = peers.size();
  const int place = (peers.rank() - root + size) % size;
  const std::int64_t length = mine.numel();
  const auto rank_at = [&](int at) { return (at + root) % size; };
  int below = 1;  // the lowest bit of the place, or the power of two that holds all
  while (below < size && (place & below) == 0) below *= 2;
  const int mine_and_theirs = below < size - place ? below : size - place;
  Tensor held = mine.empty_like(mine_and_theirs * length);  // in the order of the places
  if (place == 0) {
    for (int at = 0; at < size; ++at) {
      held.narrow(at * length, length).copy_(all.narrow(rank_at(at) * length, length));
    }
  } else {
    peers.recv(held, rank_at(place - below));
  }
  int count = mine_and_theirs;
  for (int bit = below / 2; bit > 0; bit /= 2) {
    if (bit >= count) continue;
    peers.send(held.narrow(bit * length, (count - bit) * length), rank_at(place + bit));
    count = bit;
  }
  mine.copy_(held.narrow(0, length));
}

}  // namespace lockstep::collectives
