// Recursive doubling where N is a power of two, the ring elsewhere.
#include "engine/collectives/all_gather.hpp"

namespace lockstep::collectives {

void all_gather(comm::Peers& peers, const Tensor& mine, Tensor all) {
  const int rank = peers.rank();
  const int size = peers.size();
  const int right = (rank + 1) % size;
  const int left = (rank + size - 1) % size;

  // The place of the block of rank r; r may have walked below zero, the ring closes here.
  const auto block = [&](int r) {
    return all.narrow((r + size) % size * mine.numel(), mine.numel());
  };

  block(rank).copy_(mine);
  if ((size & (size - 1)) == 0) {
    for (int apart = 1; apart < size; apart *= 2) {
      const int partner = rank ^ apart;
      const int own = rank / apart * apart, other = partner / apart * apart;
      comm::Work sending =
          peers.isend(all.narrow(own * mine.numel(), apart * mine.numel()), partner);
      peers.recv(all.narrow(other * mine.numel(), apart * mine.numel()), partner);
      sending.wait();
    }
    return;
  }
  for (int step = 0; step < size - 1; ++step) {
    comm::Work sending = peers.isend(block(rank - step), right);
    peers.recv(block(rank - step - 1), left);
    sending.wait();
  }
}

}  // namespace lockstep::collectives
