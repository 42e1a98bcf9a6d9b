// Task: reduce-scatter by a ring. Every rank brings D elements. Rank r ends with block r of their
// reduction, and `all` is unchanged. All ranks together send exactly (N-1)·D elements, so each
// block travels round the ring, collects one rank's numbers at every stop, and is finished at its
// owner. D may be 0, smaller than N, or not divisible by N. Use narrow, copy_, reduce_ and
// empty_like. The contract is in engine/collectives/reduce_scatter.hpp.
#include "engine/collectives/reduce_scatter.hpp"

namespace lockstep::collectives {

void reduce_scatter(comm::Peers& peers, const Tensor& all, Tensor mine, ReduceOp op) {
  // >>> your code
  const int rank = peers.rank();
  const int size = peers.size();
  const int right = (rank + 1) % size;
  const int left = (rank + size - 1) % size;

  // Block c of `all`; c may have walked below zero, the ring closes here.
  const auto block = [&](int c) {
    const std::int64_t index = (c + 2 * size) % size;
    const std::int64_t first = index * all.numel() / size;
    const std::int64_t last = (index + 1) * all.numel() / size;
    return all.narrow(first, last - first);
  };

  // Block c starts at rank c + 1, so that after size - 1 steps it is complete at rank c. What
  // arrives and what is being sent need room each: they take turns.
  const std::int64_t longest = (all.numel() + size - 1) / size;
  const Tensor rooms[] = {all.empty_like(longest), all.empty_like(longest)};
  Tensor partial = block(rank - 1);
  for (int step = 0; step < size - 1; ++step) {
    const Tensor share = block(rank - step - 2);
    const Tensor arrived = rooms[step % 2].narrow(0, share.numel());
    comm::Work sending = peers.isend(partial, right);
    peers.recv(arrived, left);
    sending.wait();
    arrived.reduce_(share, op);
    partial = arrived;
  }
  mine.copy_(partial);
  // <<< your code
}

}  // namespace lockstep::collectives
