// Causal attention, backward: probabilities are made again from the scores and their log sums. With
//   p = exp(scale·score - log_sum),  dp = grad·vᵀ,  ds = p·(dp - Σ grad·out)·scale:
//   dq = ds·k    by a kernel whose blocks have tiles of queries and walk over keys
//   dk = dsᵀ·q,  dv = pᵀ·grad    by one whose blocks have tiles of keys and walk over queries
// Two kernels make the scores twice, and add nothing to each other's sums: the same bits each run.
#include <cmath>

#include "engine/gpu/kernels/attention_tiles.cuh"
#include "engine/gpu/kernels/table.hpp"

namespace lockstep::gpu::kernels {
namespace {

template <typename T>
struct Backward {
  const T *qkv, *grad;
  const Wide<T>*log_sums, *dots;  // [B, H, T]; dots: Σ grad·out of a query
  T* out;                         // [B, T, 3·C]
  Wide<T> scale;
};

// dots [B, H, T]: a warp a query of a head.
template <typename T>
__global__ void dot_outputs(const T* grad, const T* output, Heads s, Wide<T>* dots) {
  using Row = Team<32>;
  for (std::int64_t r = Row::first_row(); r < s.batch * s.heads * s.tokens; r += Row::row_step()) {
    const std::int64_t of_head = r / s.tokens, token = r - of_head * s.tokens;
    const std::int64_t at =
        (of_head / s.heads * s.tokens + token) * s.width + of_head % s.heads * s.head_size;
    Wide<T> dot = 0;
    for (std::int64_t d = Row::lane(); d < s.head_size; d += 32) {
      dot += wide(grad[at + d]) * wide(output[at + d]);
    }
    dot = Row::sum(dot);
    if (Row::lane() == 0) dots[r] = dot;
  }
}

template <typename T, int size, int rows>
__global__ void __launch_bounds__(rows* quad) slope_of_queries(Backward<T> of, Heads s) {
  using V = Wide<T>;
  __shared__ Tile<V, rows, size> queries, grads, keys, values;
  const int row = static_cast<int>(threadIdx.x) / quad,
            quarter = static_cast<int>(threadIdx.x) % quad;
  const std::int64_t tiles = (s.tokens + rows - 1) / rows, stride = 3 * s.width;
  for (std::int64_t item = blockIdx.x; item < s.batch * s.heads * tiles; item += gridDim.x) {
    const Work work = work_of(s, item, tiles);
    const std::int64_t first = (tiles - 1 - work.tile) * rows, query = first + row;
    const std::int64_t at = work.sequence * s.tokens * stride + work.head * s.head_size;
    const std::int64_t of_row = (work.sequence * s.heads + work.head) * s.tokens + query;
    const T* q = of.qkv + at;
    read_tile<T, rows, size>(q, stride, first, s, queries);
    read_tile<T, rows, size>(of.grad + work.sequence * s.tokens * s.width + work.head * s.head_size,
                             s.width, first, s, grads);
    const V log_sum = query < s.tokens ? of.log_sums[of_row] : V(0);
    const V dot = query < s.tokens ? of.dots[of_row] : V(0);
    V dq[size / quad] = {};
    for (std::int64_t first_key = 0; first_key <= first; first_key += rows) {
      read_tile<T, rows, size>(q + s.width, stride, first_key, s, keys);
      read_tile<T, rows, size>(q + 2 * s.width, stride, first_key, s, values);
      __syncthreads();
      V p[rows / quad], slopes[rows / quad];
      dot_rows<V, rows, size>(queries, keys, row, quarter, p);
      dot_rows<V, rows, size>(grads, values, row, quarter, slopes);
#pragma unroll
      for (int i = 0; i < rows / quad; ++i) {
        const bool seen = first_key + quarter + quad * i <= query;
        p[i] = seen ? exponential(p[i] * of.scale - log_sum) : V(0);
        slopes[i] = seen ? p[i] * ((slopes[i] - dot) * of.scale) : V(0);
      }
      add_weighted<V, rows, size>(slopes, keys, quarter, dq);
      __syncthreads();  // before the next keys are read into the same memory
    }
    put_row<V, rows, size>(dq, V(1), row, quarter, queries);
    __syncthreads();
    write_tile<T, rows, size>(queries, stride, first, s, of.out + at);
  }
}

template <typename T, int size, int rows>
__global__ void __launch_bounds__(rows* quad) slope_of_keys(Backward<T> of, Heads s) {
  using V = Wide<T>;
  __shared__ Tile<V, rows, size> keys, values, queries, grads;
  __shared__ V log_sums[rows], dots[rows];  // of the queries
  const int row = static_cast<int>(threadIdx.x) / quad,
            quarter = static_cast<int>(threadIdx.x) % quad;
  const std::int64_t tiles = (s.tokens + rows - 1) / rows, stride = 3 * s.width;
  for (std::int64_t item = blockIdx.x; item < s.batch * s.heads * tiles; item += gridDim.x) {
    const Work work = work_of(s, item, tiles);
    // The first keys are seen by most queries.
    const std::int64_t first = work.tile * rows, key = first + row;
    const std::int64_t at = work.sequence * s.tokens * stride + work.head * s.head_size;
    const std::int64_t of_head = (work.sequence * s.heads + work.head) * s.tokens;
    const T* q = of.qkv + at;
    const T* grad = of.grad + work.sequence * s.tokens * s.width + work.head * s.head_size;
    read_tile<T, rows, size>(q + s.width, stride, first, s, keys);
    read_tile<T, rows, size>(q + 2 * s.width, stride, first, s, values);
    V dk[size / quad] = {}, dv[size / quad] = {};
    for (std::int64_t first_query = first; first_query < s.tokens; first_query += rows) {
      read_tile<T, rows, size>(q, stride, first_query, s, queries);
      read_tile<T, rows, size>(grad, s.width, first_query, s, grads);
      if (quarter == 0) {
        const std::int64_t query = first_query + row;
        log_sums[row] = query < s.tokens ? of.log_sums[of_head + query] : V(0);
        dots[row] = query < s.tokens ? of.dots[of_head + query] : V(0);
      }
      __syncthreads();
      V p[rows / quad], slopes[rows / quad];
      dot_rows<V, rows, size>(keys, queries, row, quarter, p);
      dot_rows<V, rows, size>(values, grads, row, quarter, slopes);
#pragma unroll
      for (int i = 0; i < rows / quad; ++i) {
        const int other = quarter + quad * i;
        const bool seen = key <= first_query + other;  // beyond the end, tiles are 0
        p[i] = seen ? exponential(p[i] * of.scale - log_sums[other]) : V(0);
        slopes[i] = seen ? p[i] * ((slopes[i] - dots[other]) * of.scale) : V(0);
      }
      add_weighted<V, rows, size>(p, grads, quarter, dv);
      add_weighted<V, rows, size>(slopes, queries, quarter, dk);
      __syncthreads();  // before the next queries are read into the same memory
    }
    put_row<V, rows, size>(dk, V(1), row, quarter, keys);
    put_row<V, rows, size>(dv, V(1), row, quarter, values);
    __syncthreads();
    write_tile<T, rows, size>(keys, stride, first, s, of.out + at + s.width);
    write_tile<T, rows, size>(values, stride, first, s, of.out + at + 2 * s.width);
  }
}

}  // namespace

void causal_attention_backward(const Call& call, cublasHandle_t blas, const Tensor& grad,
                               const Tensor& qkv, const Tensor& output, const Tensor& log_sums,
                               std::int64_t heads, const Tensor& out) {
  if (out.numel() == 0) return;
  const Heads s = heads_of(qkv, heads);
  visit_float(qkv, [&]<typename T>() {
    using V = Wide<T>;
    const std::int64_t queries = s.batch * s.heads * s.tokens;
    const auto dots = call.scratch.take_of<V>(static_cast<std::size_t>(queries));
    dot_outputs<<<blocks_for(queries, 4), 128, 0, call.stream>>>(
        elements<const T>(grad), elements<const T>(output), s, dots.template as<V>());
    check_launch("causal_attention_backward");
    if (takes_products(s)) {
      return attention_by_products_backward(call, blas, grad, qkv, log_sums, dots.data(), heads,
                                            out);
    }
    const Backward<T> of{elements<const T>(qkv),
                         elements<const T>(grad),
                         elements<const V>(log_sums),
                         dots.template as<const V>(),
                         elements<T>(out),
                         static_cast<V>(1 / std::sqrt(static_cast<double>(s.head_size)))};
    with_head_size(s.head_size, [&]<int size>() {
      constexpr int rows = tile_rows_for<V, size, 4>();
      const unsigned blocks = blocks_for(s.batch * s.heads * ((s.tokens + rows - 1) / rows), 1);
      slope_of_queries<T, size, rows><<<blocks, rows * quad, 0, call.stream>>>(of, s);
      check_launch("causal_attention_backward");
      slope_of_keys<T, size, rows><<<blocks, rows * quad, 0, call.stream>>>(of, s);
    });
  });
  check_launch("causal_attention_backward");
}

}  // namespace lockstep::gpu::kernels
