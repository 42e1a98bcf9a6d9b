// All sends are posted at once; what arrives is reduced as its turn comes, into room of its own.
#include <vector>

#include "engine/collectives/naive_all_reduce.hpp"

namespace lockstep::collectives {

void naive_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  std::vector<comm::Work> sends;
  for (int to = 0; to < peers.size(); ++to) {
    if (to != peers.rank()) sends.push_back(peers.isend(data, to));
  }
  const Tensor sum = data.empty_like(data.numel()), arrived = data.empty_like(data.numel());
  for (int from = 0; from < peers.size(); ++from) {
    const Tensor share = from == peers.rank() ? data : arrived;
    if (from != peers.rank()) peers.recv(arrived, from);
    if (from == 0) {
      sum.copy_(share);
    } else {
      sum.reduce_(share, op);
    }
  }
  for (auto& send : sends) send.wait();
  data.copy_(sum);
}

}  // namespace lockstep::collectives
