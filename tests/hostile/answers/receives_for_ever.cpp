// exercise: ring_all_reduce
// verdict: traffic limit
// says: Does a loop run too often
// Posts receives endlessly and waits for none.
#include <vector>
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void ring_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  (void)op;
  std::vector<comm::Work> posted;
  while (peers.size() > 1 && data.numel() > 0) {
    posted.push_back(peers.irecv(data, (peers.rank() + 1) % peers.size()));
  }
}

}  // namespace lockstep::collectives
