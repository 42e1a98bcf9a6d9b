// Task: every rank brings a block of B elements; the root collects them in the order of the ranks,
// its own by a copy. The others hold an empty `all`. The order in which blocks arrive means
// nothing: each has its place. The contract stands in engine/collectives/gather.hpp.
#include "engine/collectives/gather.hpp"

#include "engine/base/error.hpp"

namespace lockstep::collectives {

void gather(comm::Peers& peers, const Tensor& mine, Tensor all, int root) {
  // >>> your code
  // Only keeps the compiler from warning of parameters not used yet.
  (void)peers, (void)mine, (void)all, (void)root;
  throw NotImplemented("gather");
  // <<< your code
}

}  // namespace lockstep::collectives
