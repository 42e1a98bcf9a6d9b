// Task: the all-reduce that needs no idea. Every rank sends its whole buffer to every other rank,
// receives theirs, and reduces all N buffers by itself. The ranks must end with the same bits, so
// all of them must reduce in the same order. A buffer that is being sent must not change until
// wait() returns. Use narrow, copy_, reduce_, empty_like and numel. The contract is in
// engine/collectives/naive_all_reduce.hpp.
#include "engine/collectives/naive_all_reduce.hpp"

namespace lockstep::collectives {

void naive_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  // >>> your code
  const int rank = peers.rank();
  const int size = peers.size();
  const Tensor all = data.empty_like(size * data.numel());
  const auto of = [&](int r) { return all.narrow(r * data.numel(), data.numel()); };

  // In each step every rank is the receiver of exactly one other.
  of(rank).copy_(data);
  for (int step = 1; step < size; ++step) {
    const int from = (rank + size - step) % size;
    comm::Work sending = peers.isend(data, (rank + step) % size);
    peers.recv(of(from), from);
    sending.wait();
  }

  // Rank 0's data first, on every rank: sums of floating-point numbers depend on their order.
  data.copy_(of(0));
  for (int r = 1; r < size; ++r) data.reduce_(of(r), op);
  // <<< your code
}

}  // namespace lockstep::collectives
