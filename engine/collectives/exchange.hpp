// A shift round the ring: the smallest communication in which everybody sends and receives.
#pragma once

#include "engine/comm/peers.hpp"

namespace lockstep::collectives {

// Every rank gets what the rank on its left, r-1, brings; rank 0's left is rank N-1.
//   mine       [D], any dtype; D may be 0
//   from_left  [D], same dtype
//   Requires   the same D and dtype on every rank; the two do not overlap
//   Ensures    `mine` is unchanged, also where the call throws
//   Comm       one message of D elements from every rank, all at once: none waits for another. One
//              rank alone sends nothing
//   Throws     CommError when a neighbour is lost or the deadline passes
void exchange(comm::Peers& peers, const Tensor& mine, Tensor from_left);

}  // namespace lockstep::collectives
