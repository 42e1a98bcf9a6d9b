// Softmax by rows, a team a row, and the score that stands on it. A row is read three times: once
// it is in a cache, that is cheaper than keeping it.
#include "engine/gpu/kernels/softmax_rows.cuh"
#include "engine/gpu/kernels/table.hpp"

namespace lockstep::gpu::kernels {
namespace {

template <typename T, int size>
__global__ void softmax_rows(const T* x, std::int64_t rows, std::int64_t columns, T* y) {
  using Row = Team<size>;
  for (std::int64_t r = Row::first_row(); r < rows; r += Row::row_step()) {
    write_softmax<T, size>(x + r * columns, columns, y + r * columns);
  }
}

template <typename T, int size>
__global__ void softmax_backward_rows(const T* grad, const T* y, std::int64_t rows,
                                      std::int64_t columns, T* out) {
  using Row = Team<size>;
  for (std::int64_t r = Row::first_row(); r < rows; r += Row::row_step()) {
    const T *g = grad + r * columns, *p = y + r * columns;
    Wide<T> dot = 0;
    for (std::int64_t j = Row::lane(); j < columns; j += size) dot += wide(g[j]) * wide(p[j]);
    dot = Row::sum(dot);
    for (std::int64_t j = Row::lane(); j < columns; j += size) {
      out[r * columns + j] = static_cast<T>(wide(p[j]) * (wide(g[j]) - dot));
    }
  }
}

// A value and where it stands. The larger one wins, of equals the first; a NaN wins against
// nothing, as std::max_element has it, unless it stands first in the row.
template <typename V>
struct Candidate {
  V value;
  std::int64_t place;
};
template <typename V>
__device__ bool beats(const Candidate<V>& a, const Candidate<V>& b) {
  return a.value > b.value || (a.value == b.value && a.place < b.place);
}

template <typename T, int size>
__global__ void count_rows(const T* logits, const std::int64_t* labels, std::int64_t rows,
                           std::int64_t columns, unsigned long long* count) {
  using Row = Team<size>;
  using V = Wide<T>;
  constexpr std::int64_t nowhere = std::int64_t{1} << 62;
  for (std::int64_t r = Row::first_row(); r < rows; r += Row::row_step()) {
    const T* x = logits + r * columns;
    Candidate<V> best{-static_cast<V>(INFINITY), nowhere};
    for (std::int64_t j = Row::lane(); j < columns; j += size) {
      const Candidate<V> one{wide(x[j]), j};
      if (beats(one, best)) best = one;
    }
    const V most = Row::largest(best.value);
    std::int64_t place = Row::reduce(best.value == most ? best.place : nowhere, Least{});
    if (columns > 0 && wide(x[0]) != wide(x[0])) place = 0;
    if (Row::lane() == 0 && place == labels[r]) atomicAdd(count, 1ULL);
  }
}

}  // namespace

void softmax(const Call& call, const Tensor& x, const Tensor& y) {
  if (x.numel() == 0) return;
  const auto [rows, columns] = rows_of(x);
  visit_float(x, [&, rows = rows, columns = columns]<typename T>() {
    by_rows(rows, columns, [&]<int size>(unsigned blocks, unsigned threads) {
      softmax_rows<T, size><<<blocks, threads, 0, call.stream>>>(elements<const T>(x), rows,
                                                                 columns, elements<T>(y));
    });
  });
  check_launch("softmax");
}

void softmax_backward(const Call& call, const Tensor& grad, const Tensor& y, const Tensor& out) {
  if (y.numel() == 0) return;
  const auto [rows, columns] = rows_of(y);
  visit_float(y, [&, rows = rows, columns = columns]<typename T>() {
    by_rows(rows, columns, [&]<int size>(unsigned blocks, unsigned threads) {
      softmax_backward_rows<T, size><<<blocks, threads, 0, call.stream>>>(
          elements<const T>(grad), elements<const T>(y), rows, columns, elements<T>(out));
    });
  });
  check_launch("softmax_backward");
}

void count_correct(const Call& call, const Tensor& logits, const Tensor& labels,
                   const Tensor& count) {
  fill(call, 0, count);
  const auto [rows, columns] = rows_of(logits);
  visit_float(logits, [&, rows = rows, columns = columns]<typename T>() {
    by_rows(rows, columns, [&]<int size>(unsigned blocks, unsigned threads) {
      count_rows<T, size><<<blocks, threads, 0, call.stream>>>(
          elements<const T>(logits), elements<const std::int64_t>(labels), rows, columns,
          elements<unsigned long long>(count));
    });
  });
  check_launch("count_correct");
}

}  // namespace lockstep::gpu::kernels
