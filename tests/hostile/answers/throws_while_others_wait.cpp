// exercise: ring_all_reduce
// verdict: crash
// says: rank 1 threw: lost my way
// One rank throws while the others wait for it: only this rank is blamed.
#include <stdexcept>
#include "engine/collectives/ring_all_reduce.hpp"

namespace lockstep::collectives {

void ring_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  (void)op;
  if (peers.rank() == 1) throw std::runtime_error("lost my way");
  if (peers.size() > 1) peers.recv(data, (peers.rank() + 1) % peers.size());
}

}  // namespace lockstep::collectives
