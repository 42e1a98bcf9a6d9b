// Task: every rank brings a block of B elements, and the root collects them in the order of the
// ranks, its own by a copy. All other ranks hold an empty `all`. The order of arrival does not
// matter, because each block has its place. The contract is in engine/collectives/gather.hpp.
#include "engine/collectives/gather.hpp"

#include "engine/base/error.hpp"

namespace lockstep::collectives {

void gather(comm::Peers& peers, const Tensor& mine, Tensor all, int root) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)peers, (void)mine, (void)all, (void)root;
  throw NotImplemented("gather");
  // <<< your code
}

}  // namespace lockstep::collectives
