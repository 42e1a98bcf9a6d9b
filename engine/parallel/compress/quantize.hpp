// Gradients travel in 8 bits. A chunk of elements shares one scale, the largest magnitude in it
// divided by 127, and each element becomes the nearest multiple of its scale.
//
// Integers of different scales cannot be added, and 127 + 127 does not fit 8 bits. So the ranks do
// not sum what travels:
//   a. The data is cut into N equal parts. Each rank quantises all of them and sends part p to rank
//      p (all_to_all).
//   b. Rank p converts the N versions of its part to float32 and adds them in the order of ranks.
//   c. It quantises the sum and sends it to all ranks (all_gather). Each rank also decodes its own
//      part, so that all ranks hold the same bits.
//
// A part travels as its elements, one byte each, followed by the scales of its chunks in float32. A
// chunk never crosses the border of two parts, so an outlier spoils only its own chunk.
//
// Instead, every rank could send its integers to all others (all_gather): one step, but (N-1)·n
// bytes per rank. At N = 8, that is what the ring sends in float32; on more ranks, it is more.
#pragma once

#include <cstdint>

#include "engine/comm/process_group.hpp"

namespace lockstep::compress {

// Elements that share a scale by default. Scales then add 1.6 % to the bytes.
inline constexpr std::int64_t default_chunk = 256;

// Begins the sum of `data` over the group. For a mean, the caller multiplies by 1/N first.
//   data      [n] floating point {partial: group}; float64 is rounded to float32 first. Belongs to
//             the Work until it has been waited for
//   chunk     elements that share a scale, at least 1
//   Ensures   after wait(), data is the sum, the same bits on every rank. Codes are rounded to
//             nearest, so |error| ≤ Σ scale_r/2 + scale'/2, where scale_r is that of rank r's chunk
//             and scale' that of the sum's. The roundings of float32 come on top. A scale is never
//             below 2^-126, the smallest normal float32. A chunk that holds a NaN or an infinity on
//             any rank is NaN as a whole on every rank: it has no scale, and a diverged run must
//             not look healthy. Other chunks are not affected
//   Comm      an all_to_all and an all_gather; per rank 2(N-1)·(s + 4·⌈s/chunk⌉) bytes, where
//             s = ⌈n/N⌉ elements: up to N-1 of them are padding. The all_to_all is in flight when
//             the function returns; the rest happens in wait(), so at most half of the
//             communication overlaps
//   Throws    ContractError for a chunk below 1 or integers; CommError, also when counts differ
//             between ranks
//   Source    [AGL17], buckets of integers with a scale each, there rounded at random; the steps
//             are those of a reduce-scatter and an all-gather [TRG05] §4
comm::Work quantized_all_reduce(comm::ProcessGroup& group, const Tensor& data,
                                std::int64_t chunk = default_chunk);

}  // namespace lockstep::compress
