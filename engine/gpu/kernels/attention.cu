// Attention, forward: a block has a tile of queries and walks over the tiles of keys that these may
// see, without a matrix of all scores. Source: [DFE22] §3.1.
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
    attend(AttentionRows<const T> of, Heads s, Wide<T> scale, T* output, Wide<T>* log_sums) {
  using V = Wide<T>;
  __shared__ Tile<V, rows, size> queries, others;  // others: keys, then values
  const int row = static_cast<int>(threadIdx.x) / quad,
            quarter = static_cast<int>(threadIdx.x) % quad;
  const std::int64_t tiles = (s.queries + rows - 1) / rows;
  for (std::int64_t item = blockIdx.x; item < s.batch * s.heads * tiles; item += gridDim.x) {
    const Work work = work_of(s, item, tiles);
    // The last tiles see most keys: they begin first.
    const std::int64_t first = (tiles - 1 - work.tile) * rows, query = first + row;
    const std::int64_t last = std::min(first + rows, s.queries) - 1;
    const std::int64_t seen = s.seen_by(query), end = s.seen_by(last);
    const std::int64_t column = work.head * s.head_size;
    const std::int64_t of_row = (work.sequence * s.heads + work.head) * s.queries + query;
    T* const out_rows = output + work.sequence * s.queries * s.width + column;
    if (end == 0) {
      write_zeros<T, rows>(s.width, first, s.queries, s, out_rows);
      if (quarter == 0 && query < s.queries) log_sums[of_row] = -static_cast<V>(INFINITY);
      continue;
    }
    const T* const k = of.keys + work.sequence * s.keys * s.key_step + column;
    read_tile<T, rows, size>(of.queries + work.sequence * s.queries * s.query_step + column,
                             s.query_step, first, s.queries, s, queries);
    V most = -static_cast<V>(INFINITY), sum = 0, out[size / quad] = {};
    for (std::int64_t first_key = 0; first_key < end; first_key += rows) {
      read_tile<T, rows, size>(k, s.key_step, first_key, s.keys, s, others);
      __syncthreads();
      V weights[rows / quad];
      dot_rows<V, rows, size>(queries, others, row, quarter, weights);
      __syncthreads();
      read_tile<T, rows, size>(k + s.width, s.key_step, first_key, s.keys, s, others);
      V now = most;
#pragma unroll
      for (int i = 0; i < rows / quad; ++i) {
        const bool sees = first_key + quarter + quad * i < seen;
        weights[i] = sees ? weights[i] * scale : -static_cast<V>(INFINITY);
        now = Largest{}(now, weights[i]);
      }
      now = over_quad(now, Largest{});
      V added = 0;
#pragma unroll
      for (int i = 0; i < rows / quad; ++i) {
        const bool sees = first_key + quarter + quad * i < seen;
        weights[i] = sees ? exponential(weights[i] - now) : V(0);
        added += weights[i];
      }
      const V shrink = first_key == 0 || seen == 0 ? V(0) : exponential(most - now);
      sum = sum * shrink + over_quad(added, Add{});
      most = now;
#pragma unroll
      for (int j = 0; j < size / quad; ++j) out[j] *= shrink;
      __syncthreads();
      add_weighted<V, rows, size>(weights, others, quarter, out);
      __syncthreads();  // before the next keys are read into the same memory
    }
    put_row<V, rows, size>(out, seen == 0 ? V(0) : 1 / sum, row, quarter, queries);
    if (quarter == 0 && query < s.queries) log_sums[of_row] = most + log(sum);  // -∞ of none
    __syncthreads();
    write_tile<T, rows, size>(queries, s.width, first, s.queries, s, out_rows);
  }
}

}  // namespace

void attention(const Call& call, cublasHandle_t blas, const Tensor& queries,
               const Tensor& keys_values, const ops::AttentionOptions& options,
               const Tensor& output, const Tensor& log_sums) {
  if (output.numel() == 0) return;
  const Heads s = heads_of(options, queries, keys_values, output);
  if (takes_products(s)) {
    return attention_by_products(call, blas, queries, keys_values, options, output, log_sums);
  }
  visit_float(queries, [&]<typename T>() {
    with_head_size(s.head_size, [&]<int size>() {
      using V = Wide<T>;
      constexpr int rows = tile_rows_for<V, size, 2>();
      const std::int64_t items = s.batch * s.heads * ((s.queries + rows - 1) / rows);
      attend<T, size, rows><<<blocks_for(items, 1), rows * quad, 0, call.stream>>>(
          rows_of_attention<const T>(s, queries, keys_values), s,
          static_cast<V>(1 / std::sqrt(static_cast<double>(s.head_size))), elements<T>(output),
          elements<V>(log_sums));
    });
  });
  check_launch("attention");
}

}  // namespace lockstep::gpu::kernels
