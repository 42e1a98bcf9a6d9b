// Many operands reduced in one pass: what a rank does that can read the data of all its peers.
#pragma once

#include <span>

#include "engine/base/dtype.hpp"

namespace lockstep {

// Every result gets ((s₀[i] op s₁[i]) op s₂[i]) op …, `count` elements of each source, in the order
// given: the bits that reduce_elements leaves after it took s₁, s₂, … one after the other into s₀.
//   Requires  there is a source; a result is one of the sources or overlaps none, nor another one
void reduce_in_order(DType dtype, ReduceOp op, std::span<const std::byte* const> sources,
                     std::span<std::byte* const> results, std::int64_t count);

// The sum of the sources, each multiplied by `share` while it is read: every result gets
// (share·s₀[i] + share·s₁[i]) + share·s₂[i] + …. A product is rounded before it is added, so these
// are the bits of sources that were multiplied in a pass of their own (Tensor::scale_).
//   Requires  as above; a type with fractions
void sum_of_shares(DType dtype, double share, std::span<const std::byte* const> sources,
                   std::span<std::byte* const> results, std::int64_t count);

// The sum of the sources, multiplied by `factor` before it is written: every result gets
// ((s₀[i] + s₁[i]) + s₂[i] + …)·factor. These are the bits of a sum that is multiplied in a pass of
// its own.
//   Requires  as above
void scaled_sum(DType dtype, double factor, std::span<const std::byte* const> sources,
                std::span<std::byte* const> results, std::int64_t count);

}  // namespace lockstep
