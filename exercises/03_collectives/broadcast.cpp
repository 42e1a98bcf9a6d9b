// Task: broadcast by a binomial tree. The root holds D elements, and every rank must end with
// them. A root that sends to every rank sends N-1 times. In a tree no rank sends more than ⌈log₂N⌉
// times, because every rank that has the data helps. Any rank can be the root: count places from
// it, so that it is place 0. N need not be a power of two. The contract is in
// engine/collectives/broadcast.hpp.
#include "engine/collectives/broadcast.hpp"

#include "engine/base/error.hpp"

namespace lockstep::collectives {

void broadcast(comm::Peers& peers, Tensor data, int root) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)peers, (void)data, (void)root;
  throw NotImplemented("broadcast");
  // <<< your code
}

}  // namespace lockstep::collectives
