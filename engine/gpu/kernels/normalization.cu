// Both norms are one computation, a team a row; RMSNorm is LayerNorm with the mean taken as zero
// and no bias. Sums over rows, for the weights' gradients, are a thread a column, rows in order.
#include "engine/gpu/kernels/table.hpp"
#include "engine/gpu/kernels/teams.cuh"

namespace lockstep::gpu::kernels {
namespace {

// ((x - mean)·scale)·weight + bias. Each operation rounds by itself, so that normalize_again gets
// the same bits from another kernel.
template <typename V>
__device__ V normal(V x, V mean, V scale) {
  return times(plus(x, -mean), scale);
}

template <typename T>
struct Norm {
  const T *x, *weight, *bias;  // bias: null for RMSNorm
  Wide<T>*mean, *scale;        // of rows; mean: null for RMSNorm
  std::int64_t rows, columns;
};

template <typename T, int size>
__device__ void write_row(const Norm<T>& norm, std::int64_t r, Wide<T> mean, Wide<T> scale, T* y) {
  const T* x = norm.x + r * norm.columns;
  for (std::int64_t j = Team<size>::lane(); j < norm.columns; j += size) {
    Wide<T> value = times(normal(wide(x[j]), mean, scale), wide(norm.weight[j]));
    if (norm.bias != nullptr) value = plus(value, wide(norm.bias[j]));
    y[r * norm.columns + j] = static_cast<T>(value);
  }
}

template <typename T, int size>
__global__ void normalize_rows(Norm<T> norm, Wide<T> epsilon, T* y) {
  using Row = Team<size>;
  using V = Wide<T>;
  const V count = static_cast<V>(norm.columns);
  for (std::int64_t r = Row::first_row(); r < norm.rows; r += Row::row_step()) {
    const T* x = norm.x + r * norm.columns;
    V mean = 0;
    if (norm.bias != nullptr) {
      for (std::int64_t j = Row::lane(); j < norm.columns; j += size) mean += wide(x[j]);
      mean = Row::sum(mean) / count;
    }
    V squares = 0;  // in a second pass: Σx² - (Σx)² would cancel when the mean is large
    for (std::int64_t j = Row::lane(); j < norm.columns; j += size) {
      const V apart = wide(x[j]) - mean;
      squares += apart * apart;
    }
    const V scale = V(1) / sqrt(Row::sum(squares) / count + epsilon);
    if (Row::lane() == 0) {
      if (norm.bias != nullptr) norm.mean[r] = mean;
      norm.scale[r] = scale;
    }
    write_row<T, size>(norm, r, mean, scale, y);
  }
}

template <typename T, int size>
__global__ void normalize_rows_again(Norm<T> norm, T* y) {
  using Row = Team<size>;
  for (std::int64_t r = Row::first_row(); r < norm.rows; r += Row::row_step()) {
    write_row<T, size>(norm, r, norm.mean == nullptr ? 0 : norm.mean[r], norm.scale[r], y);
  }
}

// With n = (x - mean)·scale and h = grad·weight: dx = scale·(h - mean(h) - n·mean(h·n))
template <typename T, int size>
__global__ void norm_backward_rows(Norm<T> norm, const T* grad, T* dx) {
  using Row = Team<size>;
  using V = Wide<T>;
  const V count = static_cast<V>(norm.columns);
  for (std::int64_t r = Row::first_row(); r < norm.rows; r += Row::row_step()) {
    const T *x = norm.x + r * norm.columns, *g = grad + r * norm.columns;
    const V mean = norm.mean == nullptr ? 0 : norm.mean[r], scale = norm.scale[r];
    V mean_h = 0, mean_hn = 0;
    for (std::int64_t j = Row::lane(); j < norm.columns; j += size) {
      const V h = wide(g[j]) * wide(norm.weight[j]);
      mean_h += h;
      mean_hn += h * normal(wide(x[j]), mean, scale);
    }
    mean_h = norm.mean == nullptr ? 0 : Row::sum(mean_h) / count;
    mean_hn = Row::sum(mean_hn) / count;
    for (std::int64_t j = Row::lane(); j < norm.columns; j += size) {
      const V h = wide(g[j]) * wide(norm.weight[j]);
      dx[r * norm.columns + j] =
          static_cast<T>(scale * (h - mean_h - normal(wide(x[j]), mean, scale) * mean_hn));
    }
  }
}

// dweight = Σ grad·n and dbias = Σ grad over the rows: first over groups of 64 rows, a thread a
// column of a group, then over the groups. Both in order, so that the bits depend on shapes only.
constexpr std::int64_t group_rows = 64;
constexpr unsigned column_threads = 32;  // blocks of one warp, so that few columns fill many

// parts [groups, 2, columns]: what a group adds to dweight, and to dbias
template <typename T>
__global__ void norm_backward_groups(Norm<T> norm, const T* grad, std::int64_t groups,
                                     Wide<T>* parts) {
  using V = Wide<T>;
  for (std::int64_t i = first_place(); i < groups * norm.columns; i += place_step()) {
    const std::int64_t group = i / norm.columns, j = i - group * norm.columns;
    const std::int64_t end = (group + 1) * group_rows;
    V of_weight = 0, of_bias = 0;
#pragma unroll 4
    for (std::int64_t r = group * group_rows; r < (end < norm.rows ? end : norm.rows); ++r) {
      const V g = wide(grad[r * norm.columns + j]);
      const V mean = norm.mean == nullptr ? 0 : norm.mean[r];
      of_weight += g * normal(wide(norm.x[r * norm.columns + j]), mean, norm.scale[r]);
      of_bias += g;
    }
    parts[2 * group * norm.columns + j] = of_weight;
    parts[(2 * group + 1) * norm.columns + j] = of_bias;
  }
}

template <typename T>
__global__ void norm_backward_columns(const Wide<T>* parts, std::int64_t groups,
                                      std::int64_t columns, T* dweight, T* dbias) {
  for (std::int64_t j = first_place(); j < columns; j += place_step()) {
    Wide<T> of_weight = 0, of_bias = 0;
    for (std::int64_t group = 0; group < groups; ++group) {
      of_weight += parts[2 * group * columns + j];
      of_bias += parts[(2 * group + 1) * columns + j];
    }
    dweight[j] = static_cast<T>(of_weight);
    if (dbias != nullptr) dbias[j] = static_cast<T>(of_bias);
  }
}

template <typename T>
Norm<T> norm_of(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                const Tensor& scale) {
  const auto [rows, columns] = rows_of(x);
  return {elements<const T>(x),
          elements<const T>(weight),
          elements<const T>(bias),
          elements<Wide<T>>(mean),
          elements<Wide<T>>(scale),
          rows,
          columns};
}

}  // namespace

void normalize(const Call& call, const Tensor& x, const Tensor& weight, const Tensor& bias,
               double epsilon, const Tensor& y, const Tensor& mean,
               const Tensor& inverse_deviation) {
  visit_float(x, [&]<typename T>() {
    const auto norm = norm_of<T>(x, weight, bias, mean, inverse_deviation);
    by_rows(norm.rows, norm.columns, [&]<int size>(unsigned blocks, unsigned threads) {
      normalize_rows<T, size><<<blocks, threads, 0, call.stream>>>(
          norm, static_cast<Wide<T>>(epsilon), elements<T>(y));
    });
  });
  check_launch("normalize");
}

void normalize_again(const Call& call, const Tensor& x, const Tensor& weight, const Tensor& bias,
                     const Tensor& mean, const Tensor& inverse_deviation, const Tensor& y) {
  visit_float(x, [&]<typename T>() {
    const auto norm = norm_of<T>(x, weight, bias, mean, inverse_deviation);
    by_rows(norm.rows, norm.columns, [&]<int size>(unsigned blocks, unsigned threads) {
      normalize_rows_again<T, size><<<blocks, threads, 0, call.stream>>>(norm, elements<T>(y));
    });
  });
  check_launch("normalize_again");
}

void norm_backward(const Call& call, const Tensor& grad, const Tensor& x, const Tensor& weight,
                   const Tensor& mean, const Tensor& inverse_deviation, const Tensor& dx,
                   const Tensor& dweight, const Tensor& dbias) {
  visit_float(x, [&]<typename T>() {
    const auto norm = norm_of<T>(x, weight, Tensor(), mean, inverse_deviation);
    if (norm.columns == 0) return;
    by_rows(norm.rows, norm.columns, [&]<int size>(unsigned blocks, unsigned threads) {
      norm_backward_rows<T, size>
          <<<blocks, threads, 0, call.stream>>>(norm, elements<const T>(grad), elements<T>(dx));
    });
    check_launch("norm_backward");
    const std::int64_t groups = (norm.rows + group_rows - 1) / group_rows;
    const auto parts =
        call.scratch.take_of<Wide<T>>(static_cast<std::size_t>(2 * groups * norm.columns));
    if (groups > 0) {
      norm_backward_groups<<<blocks_for(groups * norm.columns, column_threads), column_threads, 0,
                             call.stream>>>(norm, elements<const T>(grad), groups,
                                            parts.template as<Wide<T>>());
      check_launch("norm_backward");
    }
    norm_backward_columns<<<blocks_for(norm.columns, column_threads), column_threads, 0,
                            call.stream>>>(parts.template as<const Wide<T>>(), groups, norm.columns,
                                           elements<T>(dweight), elements<T>(dbias));
  });
  check_launch("norm_backward");
}

}  // namespace lockstep::gpu::kernels
