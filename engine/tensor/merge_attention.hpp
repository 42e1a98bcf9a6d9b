// Attention to two blocks of keys, as one.
#pragma once

#include "engine/tensor/attention.hpp"

namespace lockstep::ops {

// Takes a block's attention into another one's, in place: the mean of the two outputs, weighted by
// exp(log-sum), and the log-sum over the keys of both.
//   into, block  of the same queries and heads, over keys that the two do not share, in memory that
//                they do not share; `block` is not changed
//   Ensures      no exponential is of more than 0; a query that sees no key of either keeps output
//   0
//                and log-sum -∞, and is never NaN
//   FLOPs        three an element of the output
//   Throws       ContractError when shapes, dtypes or devices differ
void merge_attention(const Attention& into, const Attention& block);

}  // namespace lockstep::ops
