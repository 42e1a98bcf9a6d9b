// Sums whose order is stated: one block brings values into shared memory, and a few threads add
// them, each its own in the order of elements. Slow beside a tree, and the same bits everywhere.
#pragma once

#include <cstdint>

namespace lockstep::gpu {

constexpr int ordered_tile = 2048;

// For threads below `lanes`: the sum of value(l), value(l + lanes), … in that order, from 0.
//   Requires  one block, all of whose threads call this; lanes divides the tile
template <int lanes, typename Value>
__device__ double ordered_sum(std::int64_t count, const Value& value) {
  static_assert(ordered_tile % lanes == 0);
  __shared__ double tile[ordered_tile];
  const int thread = static_cast<int>(threadIdx.x);
  double sum = 0;
  for (std::int64_t start = 0; start < count; start += ordered_tile) {
    const std::int64_t left = count - start;
    const int part = left < ordered_tile ? static_cast<int>(left) : ordered_tile;
    __syncthreads();  // the tile before has been added
    for (int i = thread; i < part; i += static_cast<int>(blockDim.x)) tile[i] = value(start + i);
    __syncthreads();
    if (thread < lanes) {
      for (int i = thread; i < part; i += lanes) sum += tile[i];
    }
  }
  return sum;
}

}  // namespace lockstep::gpu
