// Gradients travel in 16 bits: half the bytes of float32, at the price of a rounding at each
// addition.
//
// What each type loses
//   float16   11 bits of precision, largest value 65,504, smallest 2^-24: large gradients become
//             infinite, small ones zero
//   bfloat16  8 bits of precision, eight times as coarse, and the range of float32
//
// The multiplication by 1/N comes first, in the bucket's own type. So a gradient of 60,000 on two
// ranks travels as 30,000 and 30,000, and their sum fits float16; summed first, it would be
// infinite.
#pragma once

#include "engine/comm/process_group.hpp"

namespace lockstep::compress {

// Begins the mean of `bucket` over the group, with elements that travel as `half`.
//   bucket    [n] float32 or float64; this rank's gradients, not yet divided {partial: group}.
//             Belongs to the Work until it has been waited for
//   half      DType::float16 or DType::bfloat16
//   Ensures   after wait(), bucket is the mean, the same bits on every rank. Each rank's share is
//             rounded once when it is converted, to nearest even; each addition rounds once more.
//             A NaN stays a NaN; an infinity, and a share beyond the largest half, becomes
//             infinite. A group of one rank rounds, too
//   Comm      one all-reduce of n halves; it is in flight when the function returns, so all of it
//             can overlap. The conversion back is part of wait()
//   Throws    ContractError when `half` is not a 16-bit type or the bucket has integers; CommError
//   Source    PyTorch's fp16_compress_hook and bf16_compress_hook (default_hooks.py), which
//             convert first and divide in 16 bits; [MIX17] §3 on what 16 bits hold
comm::Work cast_reduce(comm::ProcessGroup& group, const Tensor& bucket, DType half);

}  // namespace lockstep::compress
