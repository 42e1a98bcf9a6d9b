// All buffers go round a ring as in all_gather; then each rank reduces them, the last rank's first.
#include "engine/collectives/naive_all_reduce.hpp"

namespace lockstep::collectives {

void naive_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  const int rank = peers.rank(), size = peers.size();
  const Tensor all = data.empty_like(size * data.numel());
  const auto block = [&](int r) { return all.narrow(r * data.numel(), data.numel()); };
  block(rank).copy_(data);
  for (int step = 0; step + 1 < size; ++step) {
    comm::Work receiving =
        peers.irecv(block((rank + size - step - 1) % size), (rank + size - 1) % size);
    peers.send(block((rank + size - step) % size), (rank + 1) % size);
    receiving.wait();
  }
  data.copy_(block(size - 1));
  for (int r = size - 2; r >= 0; --r) data.reduce_(block(r), op);
}

}  // namespace lockstep::collectives
