// Blocks with fixed borders, ⌊c·D/P⌋, and a range of them that shrinks and grows.
#include "engine/collectives/halving_doubling_all_reduce.hpp"

namespace lockstep::collectives {

void halving_doubling_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  const int rank = peers.rank();
  int p = 1;
  while (p <= peers.size() / 2) p *= 2;
  if (rank >= p) {
    peers.send(data, rank - p);
    return peers.recv(data, rank - p);
  }
  const Tensor scratch = data.empty_like(data.numel());
  const bool doubled = rank + p < peers.size();
  if (doubled) {
    peers.recv(scratch, rank + p);
    data.reduce_(scratch, op);
  }
  // Blocks [first, first + blocks).
  const auto range = [&](int first, int blocks) {
    const std::int64_t begin = data.numel() * first / p;
    return data.narrow(begin, data.numel() * (first + blocks) / p - begin);
  };
  for (int half = p / 2; half > 0; half /= 2) {
    const int mine = rank / half * half, theirs = mine ^ half;
    const Tensor kept = range(mine, half);
    const Tensor share = scratch.narrow(0, kept.numel());
    comm::Work sent = peers.isend(range(theirs, half), rank ^ half);
    comm::Work received = peers.irecv(share, rank ^ half);
    sent.wait();
    received.wait();
    kept.reduce_(share, op);
  }
  for (int half = 1; half < p; half *= 2) {
    const int mine = rank / half * half, theirs = mine ^ half;
    comm::Work sent = peers.isend(range(mine, half), rank ^ half);
    comm::Work received = peers.irecv(range(theirs, half), rank ^ half);
    sent.wait();
    received.wait();
  }
  if (doubled) peers.send(data, rank + p);
}

}  // namespace lockstep::collectives
