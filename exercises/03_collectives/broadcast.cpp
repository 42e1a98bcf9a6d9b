// Task: broadcast by a binomial tree. The root holds D elements, everybody shall hold them. A root
// that sends to everyone sends N-1 times; in a tree nobody sends more than ⌈log₂N⌉ times, because
// whoever has the data helps. Any rank can be the root: number the ranks from it, so that it
// becomes 0. N need not be a power of two. The contract stands in engine/collectives/broadcast.hpp.
#include "engine/collectives/broadcast.hpp"

#include "engine/base/error.hpp"

namespace lockstep::collectives {

void broadcast(comm::Peers& peers, Tensor data, int root) {
  // >>> your code
  // Only keeps the compiler from warning of parameters not used yet.
  (void)peers, (void)data, (void)root;
  throw NotImplemented("broadcast");
  // <<< your code
}

}  // namespace lockstep::collectives
