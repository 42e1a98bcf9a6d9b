// Results of attention to two blocks of keys become one: merge (online_softmax.hpp), for every
// query and head.
#pragma once

#include "engine/tensor/attention.hpp"

namespace lockstep::sequence_parallel {

// into = the attention to the keys of both, in place.
//   into, block  of the same queries and heads, dtype and device, over disjoint sets of keys. They
//                share no memory, and `block` is not changed
//   Ensures      in float64, and rounded once. A query that sees no key of either keeps 0 and -∞
//   Calls        merge for each query and head, where the host reads the numbers; else a kernel
//   Throws       ContractError when shapes or dtypes differ
void absorb(const ops::Attention& into, const ops::Attention& block);

}  // namespace lockstep::sequence_parallel
