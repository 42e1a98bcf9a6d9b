// All sends are started before any is waited for.
#include <vector>

#include "engine/collectives/scatter.hpp"

namespace lockstep::collectives {

void scatter(comm::Peers& peers, const Tensor& all, Tensor mine, int root) {
  const std::int64_t length = mine.numel();
  if (peers.rank() != root) return peers.recv(mine, root);
  std::vector<comm::Work> sending;
  for (int to = 0; to < peers.size(); ++to) {
    if (to != root) sending.push_back(peers.isend(all.narrow(to * length, length), to));
  }
  mine.copy_(all.narrow(root * length, length));
  for (auto& work : sending) work.wait();
}

}  // namespace lockstep::collectives
