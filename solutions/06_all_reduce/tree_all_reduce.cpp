// Task: all-reduce by a binomial tree, for data so small that only the number of steps counts.
// Partial results go up the tree to rank 0, which ends with the reduction. Then the result comes
// down the same tree, from every rank that has it to others. Every message is the whole buffer,
// and no chain of messages is longer than 2⌈log₂N⌉. N need not be a power of two. You may call
// reduce and broadcast of lesson 03. The contract is in engine/collectives/tree_all_reduce.hpp.
#include "engine/collectives/tree_all_reduce.hpp"

namespace lockstep::collectives {

void tree_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op) {
  // >>> your code
  const int rank = peers.rank();
  const int size = peers.size();
  const Tensor arrived = data.empty_like(data.numel());

  // Up: a rank collects from those above it, nearest first, until its lowest bit says that it is
  // its turn to hand on. Rank 0 has no such bit and ends with everything.
  int bit = 1;
  for (; bit < size && (rank & bit) == 0; bit *= 2) {
    if (rank + bit < size) {
      peers.recv(arrived, rank + bit);
      data.reduce_(arrived, op);
    }
  }

  // Down: the result comes from the rank that took the partial one, and goes on to those that gave
  // theirs, farthest first: they have the most to serve.
  if (bit < size) {
    peers.send(data, rank - bit);
    peers.recv(data, rank - bit);
  }
  for (bit /= 2; bit > 0; bit /= 2) {
    if (rank + bit < size) peers.send(data, rank + bit);
  }
  // <<< your code
}

}  // namespace lockstep::collectives
