// Causal attention, forward: a block has a tile of queries and walks over the tiles of keys that
// these may see, without a T×T matrix. Source: [DFE22] §3.1.
//
// Invariants, for a query after any number of keys:
//   1. `most` is its largest score so far, `sum` Σ exp(score - most)
//   2. `out` is Σ exp(score - most)·v, not yet divided by `sum`
#include <cmath>

#include "engine/gpu/kernels/attention_tiles.cuh"
#include "engine/gpu/kernels/table.hpp"

namespace lockstep::gpu::kernels {
namespace {

template <typename T, int size, int rows>
__global__ void __launch_bounds__(rows* quad)
    attend(const T* qkv, Heads s, Wide<T> scale, T* output, Wide<T>* log_sums) {
  using V = Wide<T>;
  __shared__ Tile<V, rows, size> queries, others;  // others: keys, then values
  const int row = static_cast<int>(threadIdx.x) / quad,
            quarter = static_cast<int>(threadIdx.x) % quad;
  const std::int64_t tiles = (s.tokens + rows - 1) / rows, stride = 3 * s.width;
  for (std::int64_t item = blockIdx.x; item < s.batch * s.heads * tiles; item += gridDim.x) {
    const Work work = work_of(s, item, tiles);
    // The last tiles see most keys: they begin first.
    const std::int64_t first = (tiles - 1 - work.tile) * rows, query = first + row;
    const T* q = qkv + work.sequence * s.tokens * stride + work.head * s.head_size;
    read_tile<T, rows, size>(q, stride, first, s, queries);
    V most = -static_cast<V>(INFINITY), sum = 0, out[size / quad] = {};
    for (std::int64_t first_key = 0; first_key <= first; first_key += rows) {
      read_tile<T, rows, size>(q + s.width, stride, first_key, s, others);
      __syncthreads();
      V weights[rows / quad];
      dot_rows<V, rows, size>(queries, others, row, quarter, weights);
      __syncthreads();
      read_tile<T, rows, size>(q + 2 * s.width, stride, first_key, s, others);
      V now = most;
#pragma unroll
      for (int i = 0; i < rows / quad; ++i) {
        const bool seen = first_key + quarter + quad * i <= query;
        weights[i] = seen ? weights[i] * scale : -static_cast<V>(INFINITY);
        now = Largest{}(now, weights[i]);
      }
      now = over_quad(now, Largest{});
      V added = 0;
#pragma unroll
      for (int i = 0; i < rows / quad; ++i) {
        const bool seen = first_key + quarter + quad * i <= query;
        weights[i] = seen ? exponential(weights[i] - now) : V(0);
        added += weights[i];
      }
      const V shrink = first_key == 0 ? V(0) : exponential(most - now);
      sum = sum * shrink + over_quad(added, Add{});
      most = now;
#pragma unroll
      for (int j = 0; j < size / quad; ++j) out[j] *= shrink;
      __syncthreads();
      add_weighted<V, rows, size>(weights, others, quarter, out);
      __syncthreads();  // before the next keys are read into the same memory
    }
    put_row<V, rows, size>(out, 1 / sum, row, quarter, queries);
    if (quarter == 0 && query < s.tokens) {
      log_sums[(work.sequence * s.heads + work.head) * s.tokens + query] = most + log(sum);
    }
    __syncthreads();
    write_tile<T, rows, size>(
        queries, s.width, first, s,
        output + work.sequence * s.tokens * s.width + work.head * s.head_size);
  }
}

}  // namespace

void causal_attention(const Call& call, cublasHandle_t blas, const Tensor& qkv, std::int64_t heads,
                      const Tensor& output, const Tensor& log_sums) {
  if (output.numel() == 0) return;
  const Heads s = heads_of(qkv, heads);
  if (takes_products(s)) return attention_by_products(call, blas, qkv, heads, output, log_sums);
  visit_float(qkv, [&]<typename T>() {
    with_head_size(s.head_size, [&]<int size>() {
      using V = Wide<T>;
      constexpr int rows = tile_rows_for<V, size, 2>();
      const std::int64_t items = s.batch * s.heads * ((s.tokens + rows - 1) / rows);
      attend<T, size, rows><<<blocks_for(items, 1), rows * quad, 0, call.stream>>>(
          elements<const T>(qkv), s,
          static_cast<V>(1 / std::sqrt(static_cast<double>(s.head_size))), elements<T>(output),
          elements<V>(log_sums));
    });
  });
  check_launch("causal_attention");
}

}  // namespace lockstep::gpu::kernels
