// Task: the root holds N blocks of B elements and sends block r to rank r; it copies its own. All
// other ranks hold an empty `all`. The contract is in engine/collectives/scatter.hpp.
#include "engine/collectives/scatter.hpp"

#include "engine/base/error.hpp"

namespace lockstep::collectives {

void scatter(comm::Peers& peers, const Tensor& all, Tensor mine, int root) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)peers, (void)all, (void)mine, (void)root;
  throw NotImplemented("scatter");
  // <<< your code
}

}  // namespace lockstep::collectives
