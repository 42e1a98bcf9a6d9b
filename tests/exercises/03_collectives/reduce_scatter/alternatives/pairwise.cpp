// Each rank sends every owner its share directly, one partner in each step.
#include "engine/collectives/reduce_scatter.hpp"

namespace lockstep::collectives {

void reduce_scatter(comm::Peers& peers, const Tensor& all, Tensor mine, ReduceOp op) {
  const int rank = peers.rank(), size = peers.size();
  const auto block = [&](int c) {
    const std::int64_t first = c * all.numel() / size, last = (c + 1) * all.numel() / size;
    return all.narrow(first, last - first);
  };
  const Tensor arrived = mine.empty_like(mine.numel());
  mine.copy_(block(rank));
  for (int step = 1; step < size; ++step) {
    const int to = (rank + step) % size, from = (rank + size - step) % size;
    comm::Work sending = peers.isend(block(to), to);
    peers.recv(arrived, from);
    sending.wait();
    mine.reduce_(arrived, op);
  }
}

}  // namespace lockstep::collectives
