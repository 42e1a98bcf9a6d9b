// Sums, products and scalings of elements, of tensors of one shape or of shapes that broadcast.
#include <algorithm>

#include "engine/gpu/kernels/launch.cuh"
#include "engine/gpu/kernels/table.hpp"

namespace lockstep::gpu::kernels {
namespace {

struct Plus {
  template <typename V>
  __device__ V operator()(V a, V b) const {
    return a + b;
  }
};
struct Minus {
  template <typename V>
  __device__ V operator()(V a, V b) const {
    return a - b;
  }
};
struct Times {
  template <typename V>
  __device__ V operator()(V a, V b) const {
    return a * b;
  }
};
template <typename V>
struct TimesNumber {
  V number;
  __device__ V operator()(V x) const { return x * number; }
};

// c's axes, innermost first, and how many elements a and b go on along each; 0: they are repeated.
// Beyond the last axis sizes are 1, so that a kernel for more axes takes them, too.
struct Walk {
  Walk() { std::ranges::fill(size, 1); }

  int axes = 0;
  std::int64_t size[Shape::axes_max], a[Shape::axes_max] = {}, b[Shape::axes_max] = {};
};

template <typename T, int axes, typename Each>
__global__ void combine_walking(std::int64_t count, const T* a, const T* b, Walk walk, Each each,
                                T* c) {
  for (std::int64_t i = first_place(); i < count; i += place_step()) {
    std::int64_t rest = i, at_a = 0, at_b = 0;
#pragma unroll
    for (int axis = 0; axis < axes; ++axis) {
      // The rest is the index of the outermost axis.
      const std::int64_t more = axis + 1 < axes ? rest / walk.size[axis] : 0;
      const std::int64_t index = rest - more * walk.size[axis];
      at_a += index * walk.a[axis];
      at_b += index * walk.b[axis];
      rest = more;
    }
    c[i] = static_cast<T>(each(wide(a[at_a]), wide(b[at_b])));
  }
}

// Elements from one index of `axis` (counted from the end) to the next; 0 where x is repeated.
std::int64_t step_of(const Shape& x, std::size_t axis) {
  if (axis >= x.size() || x[x.size() - 1 - axis] == 1) return 0;
  std::int64_t step = 1;
  for (std::size_t i = 0; i < axis; ++i) step *= x[x.size() - 1 - i];
  return step;
}

// Axes that both operands read as one are one axis: [B, T, C] + [C] has two.
Walk walk_of(const Shape& c, const Shape& a, const Shape& b) {
  Walk walk;
  for (std::size_t axis = 0; axis < c.size(); ++axis) {
    const std::int64_t size = c[c.size() - 1 - axis];
    if (size == 1) continue;
    const std::int64_t of_a = step_of(a, axis), of_b = step_of(b, axis);
    const int last = walk.axes - 1;
    if (last >= 0 && of_a == walk.a[last] * walk.size[last] &&
        of_b == walk.b[last] * walk.size[last]) {
      walk.size[last] *= size;
      continue;
    }
    walk.size[walk.axes] = size;
    walk.a[walk.axes] = of_a;
    walk.b[walk.axes++] = of_b;
  }
  return walk;
}

// with_axes(n, [&]<int axes>() { … }) with axes ≥ n
template <typename Function>
void with_axes(int axes, const Function& function) {
  if (axes <= 1) return function.template operator()<1>();
  if (axes == 2) return function.template operator()<2>();
  if (axes <= 4) return function.template operator()<4>();
  function.template operator()<static_cast<int>(Shape::axes_max)>();
}

template <typename Each>
void combine_by(const Call& call, const Tensor& a, const Tensor& b, const Tensor& c,
                const Each& each) {
  const std::int64_t count = c.numel();
  if (count == 0) return;
  visit_float(c, [&]<typename T>() {
    if (a.numel() == count && b.numel() == count) {
      return launch_map(call, "combine", count, elements<T>(c), InWide<T, Each>{each},
                        elements<const T>(a), elements<const T>(b));
    }
    const Walk walk = walk_of(c.shape(), a.shape(), b.shape());
    with_axes(walk.axes, [&]<int axes>() {
      combine_walking<T, axes><<<blocks_for(count, block_threads), block_threads, 0, call.stream>>>(
          count, elements<const T>(a), elements<const T>(b), walk, each, elements<T>(c));
    });
    check_launch("combine");
  });
}

template <typename T>
__global__ void add_row_to_all(const T* row, std::int64_t rows, std::int64_t columns, T* x) {
  for (std::int64_t i = first_place(); i < rows * columns; i += place_step()) {
    x[i] = static_cast<T>(wide(x[i]) + wide(row[i % columns]));
  }
}

// By 1 nothing is changed, as a clipping mostly wants it, and nothing is written.
template <typename T>
__global__ void scale_by_number(const double* number, std::int64_t count, T* x) {
  const double by = *number;
  if (by == 1) return;
  for (std::int64_t i = first_place(); i < count; i += place_step()) {
    x[i] = static_cast<T>(wide(x[i]) * static_cast<Wide<T>>(by));
  }
}

}  // namespace

void combine(const Call& call, Binary operation, const Tensor& a, const Tensor& b,
             const Tensor& c) {
  switch (operation) {
    case Binary::add:
      return combine_by(call, a, b, c, Plus{});
    case Binary::subtract:
      return combine_by(call, a, b, c, Minus{});
    case Binary::multiply:
      return combine_by(call, a, b, c, Times{});
  }
}

void scaled(const Call& call, const Tensor& x, double factor, const Tensor& y) {
  visit_float(x, [&]<typename T>() {
    const TimesNumber<Wide<T>> times{static_cast<Wide<T>>(factor)};
    launch_map(call, "scale", x.numel(), elements<T>(y), InWide<T, TimesNumber<Wide<T>>>{times},
               elements<const T>(x));
  });
}

void scale(const Call& call, const Tensor& x, double factor) { scaled(call, x, factor, x); }

void scale_by(const Call& call, const Tensor& x, const Tensor& factor) {
  if (x.numel() == 0) return;
  visit_float(x, [&]<typename T>() {
    scale_by_number<<<blocks_for(x.numel(), block_threads), block_threads, 0, call.stream>>>(
        elements<const double>(factor), x.numel(), elements<T>(x));
  });
  check_launch("scale_by");
}

void add_row(const Call& call, const Tensor& row, const Tensor& x) {
  if (x.numel() == 0) return;
  const auto [rows, columns] = rows_of(x);
  visit_float(x, [&, rows = rows, columns = columns]<typename T>() {
    add_row_to_all<<<blocks_for(x.numel(), block_threads), block_threads, 0, call.stream>>>(
        elements<const T>(row), rows, columns, elements<T>(x));
  });
  check_launch("add_row");
}

}  // namespace lockstep::gpu::kernels
