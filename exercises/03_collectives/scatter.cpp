// Task: the root holds N blocks of B elements and deals them: block r to rank r, its own to itself,
// by a copy. The others hold an empty `all`. Nobody gets more than its block. The contract stands
// in engine/collectives/scatter.hpp.
#include "engine/collectives/scatter.hpp"

#include "engine/base/error.hpp"

namespace lockstep::collectives {

void scatter(comm::Peers& peers, const Tensor& all, Tensor mine, int root) {
  // >>> your code
  // Only keeps the compiler from warning of parameters not used yet.
  (void)peers, (void)all, (void)mine, (void)root;
  throw NotImplemented("scatter");
  // <<< your code
}

}  // namespace lockstep::collectives
