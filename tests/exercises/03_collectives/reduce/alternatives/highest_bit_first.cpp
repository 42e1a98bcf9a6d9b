// Folds the upper half of the places onto the lower one until one is left.
#include "engine/collectives/reduce.hpp"

namespace lockstep::collectives {

void reduce(comm::Peers& peers, Tensor data, int root, ReduceOp op) {
  const int size = peers.size();
  const int place = (peers.rank() - root + size) % size;
  const Tensor sum = data.empty_like(data.numel());
  const Tensor arrived = data.empty_like(data.numel());
  sum.copy_(data);
  for (int left = size; left > 1; left = (left + 1) / 2) {
    const int half = (left + 1) / 2;
    if (place >= half) {
      comm::Work sending = peers.isend(sum, (place - half + root) % size);
      sending.wait();
      return;
    }
    if (place + half < left) {
      peers.recv(arrived, (place + half + root) % size);
      sum.reduce_(arrived, op);
    }
  }
  data.copy_(sum);
}

}  // namespace lockstep::collectives
