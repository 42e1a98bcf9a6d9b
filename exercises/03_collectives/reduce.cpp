// Task: reduce by a binomial tree, the mirror of broadcast. Every rank brings D elements; in the
// end the root holds their reduction, and all other ranks hold what they brought. If everyone sent
// to the root, it would receive N-1 messages; in a tree nobody receives more than ⌈log₂N⌉, because
// partial results are made on the way. Use empty_like, copy_ and reduce_; the contract stands in
// engine/collectives/reduce.hpp.
#include "engine/collectives/reduce.hpp"

#include "engine/base/error.hpp"

namespace lockstep::collectives {

void reduce(comm::Peers& peers, Tensor data, int root, ReduceOp op) {
  // >>> your code
  // Only keeps the compiler from warning of parameters not used yet.
  (void)peers, (void)data, (void)root, (void)op;
  throw NotImplemented("reduce");
  // <<< your code
}

}  // namespace lockstep::collectives
