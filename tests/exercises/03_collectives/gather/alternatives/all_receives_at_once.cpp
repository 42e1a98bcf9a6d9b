// All receives are posted before any is waited for.
#include <vector>

#include "engine/collectives/gather.hpp"

namespace lockstep::collectives {

void gather(comm::Peers& peers, const Tensor& mine, Tensor all, int root) {
  const std::int64_t length = mine.numel();
  if (peers.rank() != root) return peers.send(mine, root);
  std::vector<comm::Work> receiving;
  for (int from = 0; from < peers.size(); ++from) {
    if (from != root) receiving.push_back(peers.irecv(all.narrow(from * length, length), from));
  }
  all.narrow(root * length, length).copy_(mine);
  for (auto& work : receiving) work.wait();
}

}  // namespace lockstep::collectives
