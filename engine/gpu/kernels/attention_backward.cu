// Attention, backward: probabilities are made again from the scores and their log sums. With
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
  AttentionRows<const T> in;
  const T* grad;
  const Wide<T>*log_sums, *dots;  // [B, H, Tq]; dots: Σ grad·out of a query
  AttentionRows<T> out;           // gradients
  Wide<T> scale;
};

// dots [B, H, Tq]: a warp a query of a head.
template <typename T>
__global__ void dot_outputs(const T* grad, const T* output, Heads s, Wide<T>* dots) {
  using Row = Team<32>;
  for (std::int64_t r = Row::first_row(); r < s.batch * s.heads * s.queries; r += Row::row_step()) {
    const std::int64_t of_head = r / s.queries, query = r - of_head * s.queries;
    const std::int64_t at =
        (of_head / s.heads * s.queries + query) * s.width + of_head % s.heads * s.head_size;
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
  const std::int64_t tiles = (s.queries + rows - 1) / rows;
  for (std::int64_t item = blockIdx.x; item < s.batch * s.heads * tiles; item += gridDim.x) {
    const Work work = work_of(s, item, tiles);
    const std::int64_t first = (tiles - 1 - work.tile) * rows, query = first + row;
    const std::int64_t last = std::min(first + rows, s.queries) - 1;
    const std::int64_t seen = s.seen_by(query), end = s.seen_by(last);
    const std::int64_t column = work.head * s.head_size;
    const std::int64_t of_row = (work.sequence * s.heads + work.head) * s.queries + query;
    const std::int64_t at = work.sequence * s.queries * s.query_step + column;
    if (end == 0) {
      write_zeros<T, rows>(s.query_step, first, s.queries, s, of.out.queries + at);
      continue;
    }
    const T* const k = of.in.keys + work.sequence * s.keys * s.key_step + column;
    read_tile<T, rows, size>(of.in.queries + at, s.query_step, first, s.queries, s, queries);
    read_tile<T, rows, size>(of.grad + work.sequence * s.queries * s.width + column, s.width, first,
                             s.queries, s, grads);
    const V log_sum = query < s.queries ? of.log_sums[of_row] : V(0);
    const V dot = query < s.queries ? of.dots[of_row] : V(0);
    V dq[size / quad] = {};
    for (std::int64_t first_key = 0; first_key < end; first_key += rows) {
      read_tile<T, rows, size>(k, s.key_step, first_key, s.keys, s, keys);
      read_tile<T, rows, size>(k + s.width, s.key_step, first_key, s.keys, s, values);
      __syncthreads();
      V p[rows / quad], slopes[rows / quad];
      dot_rows<V, rows, size>(queries, keys, row, quarter, p);
      dot_rows<V, rows, size>(grads, values, row, quarter, slopes);
#pragma unroll
      for (int i = 0; i < rows / quad; ++i) {
        const bool sees = first_key + quarter + quad * i < seen;
        p[i] = sees ? exponential(p[i] * of.scale - log_sum) : V(0);
        slopes[i] = sees ? p[i] * ((slopes[i] - dot) * of.scale) : V(0);
      }
      add_weighted<V, rows, size>(slopes, keys, quarter, dq);
      __syncthreads();  // before the next keys are read into the same memory
    }
    put_row<V, rows, size>(dq, V(1), row, quarter, queries);
    __syncthreads();
    write_tile<T, rows, size>(queries, s.query_step, first, s.queries, s, of.out.queries + at);
  }
}

template <typename T, int size, int rows>
__global__ void __launch_bounds__(rows* quad) slope_of_keys(Backward<T> of, Heads s) {
  using V = Wide<T>;
  __shared__ Tile<V, rows, size> keys, values, queries, grads;
  __shared__ V log_sums[rows], dots[rows];  // of the queries
  const int row = static_cast<int>(threadIdx.x) / quad,
            quarter = static_cast<int>(threadIdx.x) % quad;
  const std::int64_t tiles = (s.keys + rows - 1) / rows;
  for (std::int64_t item = blockIdx.x; item < s.batch * s.heads * tiles; item += gridDim.x) {
    const Work work = work_of(s, item, tiles);
    // The first keys are seen by most queries.
    const std::int64_t first = work.tile * rows, missing = s.missing(first + row);
    const std::int64_t column = work.head * s.head_size;
    const std::int64_t at = work.sequence * s.keys * s.key_step + column;
    const std::int64_t of_head = (work.sequence * s.heads + work.head) * s.queries;
    T* const dk_rows = of.out.keys + at;
    const std::int64_t first_seeing = s.missing(first);
    if (first_seeing == s.queries) {
      write_zeros<T, rows>(s.key_step, first, s.keys, s, dk_rows);
      write_zeros<T, rows>(s.key_step, first, s.keys, s, dk_rows + s.width);
      continue;
    }
    const T* const q = of.in.queries + work.sequence * s.queries * s.query_step + column;
    const T* const grad = of.grad + work.sequence * s.queries * s.width + column;
    read_tile<T, rows, size>(of.in.keys + at, s.key_step, first, s.keys, s, keys);
    read_tile<T, rows, size>(of.in.keys + at + s.width, s.key_step, first, s.keys, s, values);
    V dk[size / quad] = {}, dv[size / quad] = {};
    for (std::int64_t first_query = first_seeing / rows * rows; first_query < s.queries;
         first_query += rows) {
      read_tile<T, rows, size>(q, s.query_step, first_query, s.queries, s, queries);
      read_tile<T, rows, size>(grad, s.width, first_query, s.queries, s, grads);
      if (quarter == 0) {
        const std::int64_t query = first_query + row;
        log_sums[row] = query < s.queries ? of.log_sums[of_head + query] : V(0);
        dots[row] = query < s.queries ? of.dots[of_head + query] : V(0);
      }
      __syncthreads();
      V p[rows / quad], slopes[rows / quad];
      dot_rows<V, rows, size>(keys, queries, row, quarter, p);
      dot_rows<V, rows, size>(values, grads, row, quarter, slopes);
#pragma unroll
      for (int i = 0; i < rows / quad; ++i) {
        const int other = quarter + quad * i;
        const bool sees = first_query + other >= missing;  // beyond the end, tiles are 0
        p[i] = sees ? exponential(p[i] * of.scale - log_sums[other]) : V(0);
        slopes[i] = sees ? p[i] * ((slopes[i] - dots[other]) * of.scale) : V(0);
      }
      add_weighted<V, rows, size>(p, grads, quarter, dv);
      add_weighted<V, rows, size>(slopes, queries, quarter, dk);
      __syncthreads();  // before the next queries are read into the same memory
    }
    put_row<V, rows, size>(dk, V(1), row, quarter, keys);
    put_row<V, rows, size>(dv, V(1), row, quarter, values);
    __syncthreads();
    write_tile<T, rows, size>(keys, s.key_step, first, s.keys, s, dk_rows);
    write_tile<T, rows, size>(values, s.key_step, first, s.keys, s, dk_rows + s.width);
  }
}

}  // namespace

void attention_backward(const Call& call, cublasHandle_t blas, const Tensor& grad,
                        const Tensor& queries, const Tensor& keys_values, const Tensor& output,
                        const Tensor& log_sums, const ops::AttentionOptions& options,
                        const Tensor& of_queries, const Tensor& of_keys_values) {
  const Heads s = heads_of(options, queries, keys_values, output);
  const std::int64_t rows_of_queries = s.batch * s.heads * s.queries;
  if (s.batch * s.width == 0 || s.queries + s.keys == 0) return;
  visit_float(queries, [&]<typename T>() {
    using V = Wide<T>;
    const auto dots = call.scratch.take_of<V>(static_cast<std::size_t>(rows_of_queries));
    if (s.queries > 0) {
      dot_outputs<<<blocks_for(rows_of_queries, 4), 128, 0, call.stream>>>(
          elements<const T>(grad), elements<const T>(output), s, dots.template as<V>());
      check_launch("attention_backward");
    }
    if (takes_products(s)) {
      return attention_by_products_backward(call, blas, grad, queries, keys_values, log_sums,
                                            dots.data(), options, of_queries, of_keys_values);
    }
    const Backward<T> of{rows_of_attention<const T>(s, queries, keys_values),
                         elements<const T>(grad),
                         elements<const V>(log_sums),
                         dots.template as<const V>(),
                         rows_of_attention<T>(s, of_queries, of_keys_values),
                         static_cast<V>(1 / std::sqrt(static_cast<double>(s.head_size)))};
    with_head_size(s.head_size, [&]<int size>() {
      constexpr int rows = tile_rows_for<V, size, 4>();
      const auto blocks = [&](std::int64_t tokens) {
        return blocks_for(s.batch * s.heads * ((tokens + rows - 1) / rows), 1);
      };
      if (s.queries > 0) {
        slope_of_queries<T, size, rows><<<blocks(s.queries), rows * quad, 0, call.stream>>>(of, s);
        check_launch("attention_backward");
      }
      if (s.keys > 0) {
        slope_of_keys<T, size, rows><<<blocks(s.keys), rows * quad, 0, call.stream>>>(of, s);
        check_launch("attention_backward");
      }
    });
  });
}

}  // namespace lockstep::gpu::kernels
