// Bruck: the number of blocks doubles in each step; a last turn puts them in order.
#include "engine/collectives/all_gather.hpp"

namespace lockstep::collectives {

void all_gather(comm::Peers& peers, const Tensor& mine, Tensor all) {
  const int size = peers.size(), rank = peers.rank();
  const std::int64_t length = mine.numel();
  const Tensor turned = all.empty_like(all.numel());
  turned.narrow(0, length).copy_(mine);
  for (int have = 1; have < size; have *= 2) {
    const std::int64_t more = (have < size - have ? have : size - have) * length;
    comm::Work sending = peers.isend(turned.narrow(0, more), (rank - have + size) % size);
    peers.recv(turned.narrow(have * length, more), (rank + have) % size);
    sending.wait();
  }
  for (int i = 0; i < size; ++i) {
    const std::int64_t to = (rank + i) % size;
    all.narrow(to * length, length).copy_(turned.narrow(i * length, length));
  }
}

}  // namespace lockstep::collectives
