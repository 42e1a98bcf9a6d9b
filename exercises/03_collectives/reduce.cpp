// Task: reduce by a binomial tree, the mirror of broadcast. Every rank brings D elements. The root
// ends with their reduction, and every other rank with what it brought. If every rank sends to the
// root, the root receives N-1 messages. In a tree no rank receives more than ⌈log₂N⌉, because
// ranks add on the way. Use empty_like, copy_ and reduce_. The contract is in
// engine/collectives/reduce.hpp.
#include "engine/collectives/reduce.hpp"

#include "engine/base/error.hpp"

namespace lockstep::collectives {

void reduce(comm::Peers& peers, Tensor data, int root, ReduceOp op) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)peers, (void)data, (void)root, (void)op;
  throw NotImplemented("reduce");
  // <<< your code
}

}  // namespace lockstep::collectives
