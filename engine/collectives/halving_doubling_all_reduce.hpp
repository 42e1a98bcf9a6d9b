// All-reduce by recursive halving and doubling: pairs of ranks share the work of reducing, then
// pairs of pairs, each with half of what was left; the same steps backwards bring the halves
// together again. As few bytes as a ring, as few steps as a tree.
//   P is the largest power of two that is not above N. Each of the N-P ranks beyond it sends its
//   data to one of the P first, and receives the result from it at the end.
#pragma once

#include "engine/comm/peers.hpp"

namespace lockstep::collectives {

// Replaces data by its reduction over all ranks.
//   data      [D], any dtype {partial: group}; D may be 0, smaller than N, or not divisible by N
//   op        sum, product, min or max
//   Requires  the same D, dtype and op on every rank
//   Ensures   the same bits on every rank; the order of summation depends on N and D only
//   Comm      N = P: 2log₂P steps, every rank sends 2(P-1)/P·D elements. Otherwise 2log₂P + 2
//             steps, and no rank sends more than 2(P-1)/P·D + D. Where P does not divide D, less
//             than P elements more or less. All ranks together send exactly 2(N-1)·D
//   Throws    CommError when a peer is lost or the deadline passes
//   Source    [TRG05] §4
void halving_doubling_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op);

}  // namespace lockstep::collectives
