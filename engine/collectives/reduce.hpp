// Reduce by a binomial tree, the mirror of broadcast: in every step half of the ranks that still
// hold a partial result send it to the other half.
//   N = 8, root 0:   1→0 3→2 5→4 7→6 │ 2→0 6→4 │ 4→0
#pragma once

#include "engine/comm/peers.hpp"

namespace lockstep::collectives {

// The root's data becomes the reduction over all ranks.
//   data      [D], any dtype {partial: group}; D may be 0
//   op        sum, product, min or max
//   Requires  the same D, dtype, root and op on every rank, 0 <= root < N
//   Ensures   the data of all other ranks is unchanged; the order of summation depends on N and the
//             root only, so equal inputs give equal bits
//   Comm      each rank but the root sends D elements once, (N-1)·D together; no chain of messages
//             and no rank's receives are more than ⌈log₂N⌉
//   Time      of ⌈log₂N⌉ messages of D elements, one after the other
//   Throws    CommError when a peer is lost or the deadline passes
//   Source    [TRG05] §4
void reduce(comm::Peers& peers, Tensor data, int root, ReduceOp op);

}  // namespace lockstep::collectives
