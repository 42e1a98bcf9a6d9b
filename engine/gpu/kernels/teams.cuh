// Threads that reduce a row together: a warp for rows of at most 1,024 columns, a block of 256
// threads for longer ones. A lane takes elements lane, lane + size, …; then the lanes meet in an
// order that depends on the size only, and all of them get the same bits.
#pragma once

#include <cstdint>

#include "engine/gpu/kernels/launch.cuh"

namespace lockstep::gpu {

constexpr std::int64_t warp_columns_max = 1024;
constexpr unsigned all_lanes = 0xFFFF'FFFF;

struct Add {
  template <typename V>
  __device__ V operator()(V a, V b) const {
    return a + b;
  }
};
// A NaN is passed over, as by the CPU: it comes back by what is computed with the largest.
struct Largest {
  template <typename V>
  __device__ V operator()(V a, V b) const {
    return b > a ? b : a;
  }
};
struct Least {
  template <typename V>
  __device__ V operator()(V a, V b) const {
    return b < a ? b : a;
  }
};

template <int size>
struct Team {
  static_assert(size % 32 == 0);

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % size; }
  __device__ static std::int64_t first_row() {
    return static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / size) + threadIdx.x / size;
  }
  __device__ static std::int64_t row_step() {
    return static_cast<std::int64_t>(gridDim.x) * (blockDim.x / size);
  }

  // All lanes call this; all get the result.
  template <typename V, typename Combine>
  __device__ static V reduce(V value, const Combine& combine) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
      value = combine(value, __shfl_xor_sync(all_lanes, value, apart));
    }
    if constexpr (size > 32) {
      __shared__ V parts[size / 32];
      __syncthreads();  // all have read what the reduction before left here
      if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
      __syncthreads();
      value = parts[0];
#pragma unroll
      for (int i = 1; i < size / 32; ++i) value = combine(value, parts[i]);
    }
    return value;
  }
  template <typename V>
  __device__ static V sum(V value) {
    return reduce(value, Add{});
  }
  template <typename V>
  __device__ static V largest(V value) {
    return reduce(value, Largest{});
  }
};

// by_rows(rows, columns, [&]<int size>(unsigned blocks, unsigned threads) { … launch … })
template <typename Launch>
void by_rows(std::int64_t rows, std::int64_t columns, const Launch& launch) {
  if (rows == 0) return;
  constexpr unsigned warps = 4;
  if (columns <= warp_columns_max) {
    launch.template operator()<32>(blocks_for(rows, warps), warps * 32);
  } else {
    launch.template operator()<static_cast<int>(block_threads)>(blocks_for(rows, 1), block_threads);
  }
}

}  // namespace lockstep::gpu
