// Task: all-reduce by a binomial tree, for data so small that only the number of steps counts.
// Partial results go up the tree to rank 0, which ends with the reduction. Then the result comes
// down the same tree, from every rank that has it to others. Every message is the whole buffer,
// and no chain of messages is longer than 2⌈log₂N⌉. N need not be a power of two. You may call
// reduce and broadcast of lesson 03. The contract is in engine/collectives/tree_all_reduce.hpp.
#include "engine/collectives/tree_all_reduce.hpp"

#include "engine/base/error.hpp"

namespace lockstep::collectives {

void tree_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)peers, (void)data, (void)op;
  throw NotImplemented("tree_all_reduce");
  // <<< your code
}

}  // namespace lockstep::collectives
