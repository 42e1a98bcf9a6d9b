// Broadcast by a binomial tree: in every step, each rank that has the data gives it to one more.
//   N = 8, root 0:   0→4 │ 0→2 4→6 │ 0→1 2→3 4→5 6→7
#pragma once

#include "engine/comm/peers.hpp"

namespace lockstep::collectives {

// Every rank ends with the root's elements.
//   data      [D], any dtype {root: the elements; others: room for them}; D may be 0
//   Requires  the same D, dtype and root on every rank, 0 <= root < N
//   Ensures   the root's bits on every rank; the root's own data is unchanged
//   Comm      each rank but the root receives D elements once, (N-1)·D together; no chain of
//             messages and no rank's sends are more than ⌈log₂N⌉
//   Time      of ⌈log₂N⌉ messages of D elements, one after the other
//   Throws    CommError when a peer is lost or the deadline passes
//   Source    [TRG05] §4
void broadcast(comm::Peers& peers, Tensor data, int root);

}  // namespace lockstep::collectives
