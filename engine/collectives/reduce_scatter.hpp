// Reduce-scatter by a ring: each block travels once round and is finished where it belongs.
//   D elements, N ranks, block r = elements [⌊r·D/N⌋, ⌊(r+1)·D/N⌋): sizes differ by at most one
#pragma once

#include "engine/comm/peers.hpp"

namespace lockstep::collectives {

// Rank r ends with block r of the reduction over all ranks.
//   all       [D], any dtype {partial: group}; D may be 0, smaller than N, or not divisible by N
//   mine      [length of block r], same dtype
//   op        sum, product, min or max
//   Requires  the same D, dtype and op on every rank; `mine` and `all` do not overlap
//   Ensures   `all` is unchanged, also where the call throws; block r is reduced in an order
//             that depends on r and N only
//   Comm      every rank sends between D - ⌈D/N⌉ and D - ⌊D/N⌋ elements, (N-1)·D together; chains
//             of at most N-1 messages
//   Throws    CommError when a peer is lost or the deadline passes
//   Source    [PY09] §3
void reduce_scatter(comm::Peers& peers, const Tensor& all, Tensor mine, ReduceOp op);

}  // namespace lockstep::collectives
