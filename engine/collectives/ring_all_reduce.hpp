// Ring all-reduce: N chunks travel once round the ring being reduced, and once more being copied.
//   D elements, N ranks, chunk c = elements [c·D/N, (c+1)·D/N) rounded so that sizes differ by ≤ 1
#pragma once

#include "engine/comm/peers.hpp"

namespace lockstep::collectives {

// Replaces data by its reduction over all ranks.
//   data      [D], any dtype {partial: group}; D may be 0, smaller than N, or not divisible by N
//   Ensures   the same bits on every rank; chunk c is reduced in ring order from one fixed rank
//   Comm      2(N-1) steps; a rank sends between 2D - 2⌈D/N⌉ and 2D - 2⌊D/N⌋ elements, all ranks
//             together exactly 2(N-1)·D, to its right neighbour only (or to the left one only, in
//             either half of the steps)
//   Throws    CommError when a neighbour is lost or the deadline passes
//   Source    [PY09] §3
void ring_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op);

}  // namespace lockstep::collectives
