// The tiles that all kernels of attention use: tiles of rows in shared memory, four threads (a
// quad, neighbours in a warp) a row. Thread `quarter` of a row's quad has the columns and the keys
// quarter, quarter + 4, …; what the others of the quad have comes by shuffles. `size` is the upper
// bound of a head's size.
#pragma once

#include "engine/gpu/kernels/attention_heads.cuh"
#include "engine/gpu/kernels/teams.cuh"

namespace lockstep::gpu {

constexpr int quad = 4;

// Rows of a tile, so that `tiles` of them fit into the 48 KiB that a block has without asking.
template <typename V, int size, int tiles>
constexpr int tile_rows_for() {
  constexpr int bytes_of_row = tiles * (size + 1) * static_cast<int>(sizeof(V));
  for (int rows = 32; rows > 8; rows /= 2) {
    if (rows * bytes_of_row <= 48 * 1024 - 1024) return rows;
  }
  return 8;
}

// One unit of work: a tile of rows of one head of one sequence.
struct Work {
  std::int64_t sequence, head, tile;
};
__device__ inline Work work_of(const Heads& s, std::int64_t item, std::int64_t tiles) {
  const std::int64_t of_head = item / tiles;
  return {of_head / s.heads, of_head % s.heads, item - of_head * tiles};
}

// One more column than needed, so that rows begin in different banks.
template <typename V, int rows, int size>
using Tile = V[rows][size + 1];

// tile[r][c] = from[(first + r)·stride + c], zero beyond the sequence's end and the head's width.
template <typename T, int rows, int size>
__device__ void read_tile(const T* from, std::int64_t stride, std::int64_t first, std::int64_t end,
                          const Heads& s, Tile<Wide<T>, rows, size>& tile) {
#pragma unroll 4
  for (int step = 0; step < size / quad; ++step) {
    const int i = static_cast<int>(threadIdx.x) + step * rows * quad, r = i / size, c = i % size;
    const bool inside = first + r < end && c < s.head_size;
    tile[r][c] = inside ? wide(from[(first + r) * stride + c]) : Wide<T>(0);
  }
}

// Each thread takes from the tile what it would itself read into it next: no barrier lies between.
template <typename T, int rows, int size>
__device__ void write_tile(const Tile<Wide<T>, rows, size>& tile, std::int64_t stride,
                           std::int64_t first, std::int64_t end, const Heads& s, T* to) {
#pragma unroll 4
  for (int step = 0; step < size / quad; ++step) {
    const int i = static_cast<int>(threadIdx.x) + step * rows * quad, r = i / size, c = i % size;
    if (first + r < end && c < s.head_size) {
      to[(first + r) * stride + c] = static_cast<T>(tile[r][c]);
    }
  }
}

// A tile that sees nothing, or that nobody sees, is written as zeros.
template <typename T, int rows>
__device__ void write_zeros(std::int64_t stride, std::int64_t first, std::int64_t end,
                            const Heads& s, T* to) {
  const std::int64_t row = first + static_cast<int>(threadIdx.x) / quad;
  if (row >= end) return;
  for (std::int64_t c = threadIdx.x % quad; c < s.head_size; c += quad) {
    to[row * stride + c] = T(0.0F);
  }
}

// dots[i] = row `row` of a times row (quarter + 4·i) of b.
template <typename V, int rows, int size>
__device__ void dot_rows(const Tile<V, rows, size>& a, const Tile<V, rows, size>& b, int row,
                         int quarter, V (&dots)[rows / quad]) {
#pragma unroll
  for (int i = 0; i < rows / quad; ++i) dots[i] = 0;
#pragma unroll 4
  for (int d = 0; d < size; ++d) {
    const V x = a[row][d];
#pragma unroll
    for (int i = 0; i < rows / quad; ++i) dots[i] += x * b[quarter + quad * i][d];
  }
}

// sums[j] += Σₖ weight(k) · b[k][quarter + 4·j], where the quad's threads have the weights.
template <typename V, int rows, int size>
__device__ void add_weighted(const V (&weights)[rows / quad], const Tile<V, rows, size>& b,
                             int quarter, V (&sums)[size / quad]) {
  const int first_lane = static_cast<int>(threadIdx.x) % 32 / quad * quad;
#pragma unroll
  for (int i = 0; i < rows / quad; ++i) {
#pragma unroll
    for (int other = 0; other < quad; ++other) {
      const V weight = __shfl_sync(all_lanes, weights[i], first_lane + other);
#pragma unroll
      for (int j = 0; j < size / quad; ++j) {
        sums[j] += weight * b[quad * i + other][quarter + quad * j];
      }
    }
  }
}

// Over the four threads of a row; all get the result.
template <typename V, typename Combine>
__device__ V over_quad(V value, const Combine& combine) {
  value = combine(value, __shfl_xor_sync(all_lanes, value, 1));
  return combine(value, __shfl_xor_sync(all_lanes, value, 2));
}

template <typename V, int rows, int size>
__device__ void put_row(const V (&values)[size / quad], V factor, int row, int quarter,
                        Tile<V, rows, size>& tile) {
#pragma unroll
  for (int j = 0; j < size / quad; ++j) tile[row][quarter + quad * j] = values[j] * factor;
}

// with_head_size(D, [&]<int size>() { … })
template <typename Function>
void with_head_size(std::int64_t head_size, const Function& function) {
  if (head_size <= 32) return function.template operator()<32>();
  if (head_size <= 64) return function.template operator()<64>();
  function.template operator()<tile_head_max>();
}

}  // namespace lockstep::gpu
