// Task: all-gather by a ring. Every rank brings a block of B elements and ends with all N blocks,
// in the order of the ranks. Each rank sends exactly (N-1)·B elements, so the blocks travel round
// the ring: in every step a rank passes on the block that it has just received. Use narrow, copy_
// and numel. The contract is in engine/collectives/all_gather.hpp.
#include "engine/collectives/all_gather.hpp"

namespace lockstep::collectives {

void all_gather(comm::Peers& peers, const Tensor& mine, Tensor all) {
  // >>> your code
  const int rank = peers.rank();
  const int size = peers.size();
  const int right = (rank + 1) % size;
  const int left = (rank + size - 1) % size;

  // The place of the block of rank r; r may have walked below zero, the ring closes here.
  const auto block = [&](int r) {
    return all.narrow((r + size) % size * mine.numel(), mine.numel());
  };

  block(rank).copy_(mine);
  for (int step = 0; step < size - 1; ++step) {
    comm::Work sending = peers.isend(block(rank - step), right);
    peers.recv(block(rank - step - 1), left);
    sending.wait();
  }
  // <<< your code
}

}  // namespace lockstep::collectives
