// The parts of lesson 03, with the last rank as the root.
#include "engine/collectives/broadcast.hpp"
#include "engine/collectives/reduce.hpp"
#include "engine/collectives/tree_all_reduce.hpp"

namespace lockstep::collectives {

void tree_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  const int root = peers.size() - 1;
  reduce(peers, data, root, op);
  broadcast(peers, data, root);
}

}  // namespace lockstep::collectives
