// Sums of many elements into few, and what a global norm needs.
#include "engine/gpu/kernels/launch.cuh"
#include "engine/gpu/kernels/ordered_sums.cuh"
#include "engine/gpu/kernels/table.hpp"
#include "engine/gpu/kernels/teams.cuh"

namespace lockstep::gpu::kernels {
namespace {

// Kept and summed axes take turns, neighbours of one kind being one.
constexpr int axes_max = (Shape::axes_max + 1) / 2;

// Axes of x, outermost first: sizes, and the elements of x from one index to the next.
struct Axes {
  int count;
  std::int64_t size[axes_max], step[axes_max];
};

// The offset at which element `number` of these axes begins in x.
__device__ std::int64_t offset_of(const Axes& axes, std::int64_t number) {
  std::int64_t offset = 0;
#pragma unroll
  for (int axis = axes_max - 1; axis >= 0; --axis) {  // unrolled: no array with a running index
    if (axis < axes.count) {
      const std::int64_t more = number / axes.size[axis];
      offset += (number - more * axes.size[axis]) * axes.step[axis];
      number = more;
    }
  }
  return offset;
}

// A thread a sum, its terms in the order of their indices: neighbours read neighbours.
template <typename T>
__global__ void sum_by_threads(const T* x, Axes kept, Axes summed, std::int64_t sums,
                               std::int64_t terms, T* total) {
  for (std::int64_t i = first_place(); i < sums; i += place_step()) {
    const T* from = x + offset_of(kept, i);
    Wide<T> sum = 0;
    for (std::int64_t k = 0; k < terms; ++k) sum += wide(from[offset_of(summed, k)]);
    total[i] = static_cast<T>(sum);
  }
}

// A team a sum, where its terms are neighbours.
template <typename T, int size>
__global__ void sum_by_teams(const T* x, Axes kept, Axes summed, std::int64_t sums,
                             std::int64_t terms, T* total) {
  using Row = Team<size>;
  for (std::int64_t i = Row::first_row(); i < sums; i += Row::row_step()) {
    const T* from = x + offset_of(kept, i);
    Wide<T> sum = 0;
    for (std::int64_t k = Row::lane(); k < terms; k += size) {
      sum += wide(from[offset_of(summed, k)]);
    }
    sum = Row::sum(sum);
    if (Row::lane() == 0) total[i] = static_cast<T>(sum);
  }
}

// Rows in order, a thread a column. Blocks are warps, so that few columns reach many processors.
template <typename T>
__global__ void sum_columns(const T* x, std::int64_t rows, std::int64_t columns, T* total) {
  for (std::int64_t j = first_place(); j < columns; j += place_step()) {
    Wide<T> sum = 0;
#pragma unroll 8
    for (std::int64_t r = 0; r < rows; ++r) sum += wide(x[r * columns + j]);
    total[j] = static_cast<T>(sum);
  }
}

template <typename T>
__global__ void add_squares_in_order(const T* x, std::int64_t count, double* total) {
  constexpr int lanes = 16;
  const double sum = ordered_sum<lanes>(count, [x](std::int64_t i) {
    const auto element = static_cast<double>(wide(x[i]));
    return times(element, element);
  });
  if (threadIdx.x >= 32) return;
  double squares = 0;
#pragma unroll
  for (int lane = 0; lane < lanes; ++lane) squares += __shfl_sync(all_lanes, sum, lane);
  if (threadIdx.x == 0) *total += squares;
}

__global__ void clip(const double* squares, double max_norm, double* norm, double* factor) {
  const double length = sqrt(*squares);
  const double bound = max_norm / (length + 1e-6);
  *norm = length;
  *factor = max_norm > 0 && bound < 1 && isfinite(length) ? bound : 1;
}

// x's axes, those of size 1 left out, split into kept and summed ones; neighbours of one kind that
// can be counted as one axis are.
struct Split {
  Axes kept{}, summed{};
  bool summed_last = false;
};

Split split(const Shape& from, const Shape& to) {
  Split axes;
  const std::size_t missing = from.size() - to.size();
  std::int64_t step = 1;
  Axes reversed[2]{};  // innermost first: [0] kept, [1] summed
  int last = -1;
  for (std::size_t axis = from.size(); axis-- > 0;) {
    const std::int64_t size = from[axis];
    const bool summed = axis < missing || to[axis - missing] != size;
    if (size != 1) {
      Axes& of = reversed[summed ? 1 : 0];
      if (last == (summed ? 1 : 0)) {
        of.size[of.count - 1] *= size;
      } else {
        of.size[of.count] = size;
        of.step[of.count++] = step;
      }
      if (last < 0) axes.summed_last = summed;
      last = summed ? 1 : 0;
    }
    step *= size;
  }
  for (int kind = 0; kind < 2; ++kind) {
    Axes& of = kind == 0 ? axes.kept : axes.summed;
    of.count = reversed[kind].count;
    for (int i = 0; i < of.count; ++i) {
      of.size[i] = reversed[kind].size[of.count - 1 - i];
      of.step[i] = reversed[kind].step[of.count - 1 - i];
    }
  }
  return axes;
}

}  // namespace

void sum_to(const Call& call, const Tensor& x, const Tensor& total) {
  const std::int64_t sums = total.numel();
  if (sums == 0) return;
  if (x.numel() == 0) return fill(call, 0, total);
  const std::int64_t terms = x.numel() / sums;
  const Split axes = split(x.shape(), total.shape());
  visit_float(x, [&]<typename T>() {
    if (!axes.summed_last) {
      sum_by_threads<<<blocks_for(sums, 64), 64, 0, call.stream>>>(
          elements<const T>(x), axes.kept, axes.summed, sums, terms, elements<T>(total));
      return;
    }
    by_rows(sums, terms, [&]<int size>(unsigned blocks, unsigned threads) {
      sum_by_teams<T, size><<<blocks, threads, 0, call.stream>>>(
          elements<const T>(x), axes.kept, axes.summed, sums, terms, elements<T>(total));
    });
  });
  check_launch("sum_to");
}

void sum_rows(const Call& call, const Tensor& x, const Tensor& sum) {
  const auto [rows, columns] = rows_of(x);
  if (columns == 0) return;
  visit_float(x, [&, rows = rows, columns = columns]<typename T>() {
    sum_columns<<<blocks_for(columns, 32), 32, 0, call.stream>>>(elements<const T>(x), rows,
                                                                 columns, elements<T>(sum));
  });
  check_launch("sum_rows");
}

void add_squares(const Call& call, const Tensor& x, const Tensor& total) {
  if (x.numel() == 0) return;
  visit_float(x, [&]<typename T>() {
    add_squares_in_order<<<1, block_threads, 0, call.stream>>>(elements<const T>(x), x.numel(),
                                                               elements<double>(total));
  });
  check_launch("add_squares");
}

void clip_factor(const Call& call, const Tensor& squares, double max_norm, const Tensor& norm,
                 const Tensor& factor) {
  clip<<<1, 1, 0, call.stream>>>(elements<const double>(squares), max_norm, elements<double>(norm),
                                 elements<double>(factor));
  check_launch("clip_factor");
}

}  // namespace lockstep::gpu::kernels
