// A binary tree instead of a binomial one: rank r has the children 2r+1 and 2r+2.
#include <vector>

#include "engine/collectives/tree_all_reduce.hpp"

namespace lockstep::collectives {

void tree_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  std::vector<int> children;
  for (const int child : {2 * peers.rank() + 1, 2 * peers.rank() + 2}) {
    if (child < peers.size()) children.push_back(child);
  }
  for (const int child : children) {
    const Tensor share = data.empty_like(data.numel());
    peers.recv(share, child);
    data.reduce_(share, op);
  }
  if (peers.rank() > 0) {
    const int parent = (peers.rank() - 1) / 2;
    peers.send(data, parent);
    peers.recv(data, parent);
  }
  for (const int child : children) peers.send(data, child);
}

}  // namespace lockstep::collectives
