// Programs whose results are compared by the cases of kernels (kernel_cases.cpp), in sizes that
// between them run every path. Compilers make loops of four at once, and a rest, of most loops:
// a thread has two turns, three, four, five and more.
#pragma once

#include <initializer_list>
#include <utility>

#include "tests/gpu/programs.hpp"

namespace lockstep::test {

// Four or five turns of a block's 256 threads.
inline std::int64_t in_packets(DType dtype) { return 1152 * packet_of(dtype) + 3; }
inline constexpr std::int64_t between_packets = 1155;

inline void append(Results& all, const Results& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// Whose results have the CPU's bits, but for sums_of_axes.
Results moves(DType dtype, Device& device);
Results elements(DType dtype, Device& device);
Results ends(DType dtype, Device& device);  // of halves
Results squares(DType dtype, Device& device);
Results gathers(DType dtype, Device& device);
Results sums_of_axes(DType dtype, Device& device);
Results integer_moves(DType dtype, Device& device);
Results integer_conversions(DType dtype, Device& device);

Results all_losses(DType dtype, Device& device);
Results long_losses(DType dtype, Device& device);
Results norms_of(std::initializer_list<std::pair<std::int64_t, std::int64_t>> sizes, DType dtype,
                 Device& device);  // rows, columns
Results again(DType dtype, Device& device);
Results attentions(DType dtype, Device& device);
Results merged_blocks(DType dtype, Device& device);
Results wide_heads(DType dtype, Device& device);          // of 33 to 128 numbers
Results wide_heads_of_many(DType dtype, Device& device);  // of the same, of many tokens
Results widest_heads(DType dtype, Device& device);        // by products
Results sharp_heads(DType dtype, Device& device);

}  // namespace lockstep::test
