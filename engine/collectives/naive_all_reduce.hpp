// Naive all-reduce: every rank sends its whole buffer to every other rank and reduces all N buffers
// by itself. The other algorithms are measured against it.
#pragma once

#include "engine/comm/peers.hpp"

namespace lockstep::collectives {

// Replaces data by its reduction over all ranks.
//   data      [D], any dtype {partial: group}; D may be 0
//   op        sum, product, min or max
//   Requires  the same D, dtype and op on every rank
//   Ensures   the same bits on every rank: all reduce in one and the same order
//   Comm      every rank sends exactly (N-1)·D elements; chains of at most N-1 messages
//   Memory    room for what arrives: N·D elements at most
//   Throws    CommError when a peer is lost or the deadline passes
void naive_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op);

}  // namespace lockstep::collectives
