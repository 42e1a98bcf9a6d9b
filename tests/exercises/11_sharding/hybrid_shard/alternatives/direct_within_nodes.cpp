// Every rank sends each shard straight to its owner; between nodes, chunks go straight to theirs,
// and come back finished.
#include <vector>

#include "engine/parallel/zero/hybrid_shard.hpp"

namespace lockstep::zero {

namespace {

// Part i of a tensor that is cut into `parts`.
Tensor part(const Tensor& whole, int i, int parts) {
  const std::int64_t begin = i * whole.numel() / parts, end = (i + 1) * whole.numel() / parts;
  return whole.narrow(begin, end - begin);
}

// mine = part r of the reduction; everybody sends in another order.
void scatter(comm::Peers& peers, const Tensor& whole, const Tensor& mine, ReduceOp op) {
  const int rank = peers.rank(), size = peers.size();
  std::vector<comm::Work> sends;
  std::vector<Tensor> came;
  for (int step = 1; step < size; ++step) {
    const int dst = (rank + step) % size, src = (rank + size - step) % size;
    sends.push_back(peers.isend(part(whole, dst, size), dst));
    came.push_back(whole.empty_like(mine.numel()));
    peers.recv(came.back(), src);
  }
  for (comm::Work& send : sends) send.wait();
  mine.copy_(part(whole, rank, size));
  for (const Tensor& one : came) mine.reduce_(one, op);
}

}  // namespace

void reduce_hybrid(comm::Peers& in_node, comm::Peers& across, const Tensor& gradient, Tensor shard,
                   ReduceOp op) {
  scatter(in_node, gradient, shard, op);
  const int rank = across.rank(), size = across.size();
  const Tensor whole = shard.empty_like(shard.numel());
  whole.copy_(shard);
  scatter(across, whole, part(shard, rank, size), op);
  std::vector<comm::Work> sends;
  for (int step = 1; step < size; ++step) {
    const int dst = (rank + step) % size, src = (rank + size - step) % size;
    sends.push_back(across.isend(part(shard, rank, size), dst));
    across.recv(part(shard, src, size), src);
  }
  for (comm::Work& send : sends) send.wait();
}

}  // namespace lockstep::zero
