// The other binomial tree: the number of ranks that have it doubles from the root outwards.
#include <vector>

#include "engine/collectives/broadcast.hpp"

namespace lockstep::collectives {

void broadcast(comm::Peers& peers, Tensor data, int root) {
  const int size = peers.size();
  const int place = (peers.rank() - root + size) % size;
  std::vector<comm::Work> sending;
  for (int have = 1; have < size; have *= 2) {
    if (place < have && place + have < size) {
      sending.push_back(peers.isend(data, (place + have + root) % size));
    } else if (place >= have && place < 2 * have) {
      peers.recv(data, (place - have + root) % size);
    }
  }
  for (auto& work : sending) work.wait();
}

}  // namespace lockstep::collectives
