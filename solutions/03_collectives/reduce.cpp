// Task: reduce by a binomial tree, the mirror of broadcast. Every rank brings D elements. The root
// ends with their reduction, and every other rank with what it brought. If every rank sends to the
// root, the root receives N-1 messages. In a tree no rank receives more than ⌈log₂N⌉, because
// ranks add on the way. Use empty_like, copy_ and reduce_. The contract is in
// engine/collectives/reduce.hpp.
#include "engine/collectives/reduce.hpp"

namespace lockstep::collectives {

void reduce(comm::Peers& peers, Tensor data, int root, ReduceOp op) {
  // >>> your code
  const int size = peers.size();
  const int place = (peers.rank() - root + size) % size;  // counted from the root
  const auto rank_at = [&](int at) { return (at + root) % size; };

  // Only the root's own data may change; the others add up in room of their own.
  Tensor sum = data;
  if (place != 0) {
    sum = data.empty_like(data.numel());
    sum.copy_(data);
  }
  const Tensor arrived = data.empty_like(data.numel());
  for (int bit = 1; bit < size; bit *= 2) {
    if ((place & bit) != 0) {
      // Everything of the places [place, place + bit) is in `sum`: hand it on, and be done.
      peers.send(sum, rank_at(place - bit));
      break;
    }
    if (place + bit < size) {
      peers.recv(arrived, rank_at(place + bit));
      sum.reduce_(arrived, op);
    }
  }
  // <<< your code
}

}  // namespace lockstep::collectives
