// Scratch for every step, both operations asynchronous, waited for in pairs.
#include <vector>

#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void ring_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  const int n = peers.size();
  if (n == 1) return;
  const int next = (peers.rank() + 1) % n, previous = (peers.rank() - 1 + n) % n;
  std::vector<std::int64_t> bounds;
  for (int i = 0; i <= n; ++i) bounds.push_back(data.numel() * i / n);
  const auto part = [&](int i) {
    const auto at = static_cast<std::size_t>((i % n + n) % n);
    return data.narrow(bounds[at], bounds[at + 1] - bounds[at]);
  };
  for (int round = 0; round < 2; ++round) {
    for (int step = 0; step + 1 < n; ++step) {
      const Tensor outgoing = part(peers.rank() - step + round);
      const Tensor place = part(peers.rank() - step - 1 + round);
      const Tensor incoming = place.empty_like(place.numel());
      comm::Work sent = peers.isend(outgoing, next);
      comm::Work received = peers.irecv(incoming, previous);
      received.wait();
      sent.wait();
      if (round == 0) {
        place.reduce_(incoming, op);
      } else {
        place.copy_(incoming);
      }
    }
  }
}

}  // namespace lockstep::collectives
