// Tree all-reduce: the data is reduced up a binomial tree, and the result comes down the same tree.
//   N = 8, root 0:   1→0 3→2 5→4 7→6 │ 2→0 6→4 │ 4→0 ║ 0→4 │ 0→2 4→6 │ 0→1 2→3 4→5 6→7
#pragma once

#include "engine/comm/peers.hpp"

namespace lockstep::collectives {

// Replaces data by its reduction over all ranks.
//   data      [D], any dtype {partial: group}; D may be 0
//   op        sum, product, min or max
//   Requires  the same D, dtype and op on every rank
//   Ensures   the same bits on every rank; the order of summation depends on N only
//   Comm      2(N-1) messages of D elements each; no chain is longer than 2⌈log₂N⌉, and no rank
//             sends or receives more than ⌈log₂N⌉+1 of them
//   Time      of 2⌈log₂N⌉ messages of D elements, one after the other
//   Throws    CommError when a peer is lost or the deadline passes
//   Source    [TRG05] §4
void tree_all_reduce(comm::Peers& peers, Tensor data, ReduceOp op);

}  // namespace lockstep::collectives
