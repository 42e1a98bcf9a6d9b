// Odd ranks hand their block to the even rank below, which brings both.
#include "engine/collectives/gather.hpp"

namespace lockstep::collectives {

void gather(comm::Peers& peers, const Tensor& mine, Tensor all, int root) {
  const std::int64_t length = mine.numel();
  const int size = peers.size(), rank = peers.rank();
  const auto holds_own = [&](int r) { return r % 2 == 0 || r == root || r - 1 == root; };
  if (rank == root) {
    all.narrow(rank * length, length).copy_(mine);
    for (int from = 0; from < size; ++from) {
      if (from == root || !holds_own(from)) continue;
      const bool pair = from % 2 == 0 && from + 1 < size && from + 1 != root;
      peers.recv(all.narrow(from * length, (pair ? 2 : 1) * length), from);
    }
    return;
  }
  if (!holds_own(rank)) return peers.send(mine, rank - 1);
  if (rank % 2 == 0 && rank + 1 < size && rank + 1 != root) {
    const Tensor both = mine.empty_like(2 * length);
    both.narrow(0, length).copy_(mine);
    peers.recv(both.narrow(length, length), rank + 1);
    peers.send(both, root);
  } else {
    peers.send(mine, root);
  }
}

}  // namespace lockstep::collectives
