// One walk serves all shapes: the axes but the last are counted like an odometer, and the last is a
// run of elements in which each operand steps by 1 or stays.
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/tensor/cpu/kernel_table.hpp"
#include "engine/tensor/cpu/vector_sums.hpp"
#include "engine/tensor/cpu/visit_real.hpp"

namespace lockstep::kernels {
namespace {

// How an operand of `shape` is read while `full` is walked: elements to step along each axis of
// `full`, 0 where the operand is repeated.
std::vector<std::int64_t> strides_in(const Shape& full, const Shape& shape) {
  std::vector<std::int64_t> strides(full.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t from_end = shape.size() - 1 - i;
    if (shape[from_end] != 1) strides[full.size() - 1 - i] = stride;
    stride *= shape[from_end];
  }
  return strides;
}

// Axes that all operands read as one are one axis: [B, T, C] with itself is a single run.
void merge_axes(Shape& full, std::vector<std::int64_t>& a, std::vector<std::int64_t>& b) {
  for (std::size_t axis = full.size(); axis-- > 1;) {
    const bool a_runs_on = a[axis - 1] == a[axis] * full[axis];
    const bool b_runs_on = b[axis - 1] == b[axis] * full[axis];
    if (!a_runs_on || !b_runs_on) continue;
    full[axis - 1] *= full[axis];
    a[axis - 1] = a[axis];
    b[axis - 1] = b[axis];
    const auto at = static_cast<std::ptrdiff_t>(axis);
    full.erase(full.begin() + at);
    a.erase(a.begin() + at);
    b.erase(b.begin() + at);
  }
}

// run(to, at_a, at_b, count, step_a, step_b) for each run of the last axis; `to` counts elements.
template <typename Run>
void walk(Shape full, const Shape& shape_a, const Shape& shape_b, const Run& run) {
  if (full.empty()) full = {1};
  auto a = strides_in(full, shape_a), b = strides_in(full, shape_b);
  merge_axes(full, a, b);
  const std::int64_t count = full.back();
  const std::int64_t runs = count == 0 ? 0 : numel_of(full) / count;
  std::vector<std::int64_t> index(full.size(), 0);
  std::int64_t at_a = 0, at_b = 0;
  for (std::int64_t r = 0; r < runs; ++r) {
    run(r * count, at_a, at_b, count, a.back(), b.back());
    for (std::size_t axis = full.size() - 1; axis-- > 0;) {
      at_a += a[axis];
      at_b += b[axis];
      if (++index[axis] < full[axis]) break;
      at_a -= a[axis] * full[axis];
      at_b -= b[axis] * full[axis];
      index[axis] = 0;
    }
  }
}

template <int bytes, typename T, typename Each>
LOCKSTEP_INLINED inline void combine_run(vectors::Registers<bytes> registers, std::int64_t count,
                                         T* to, const T* a, std::int64_t step_a, const T* b,
                                         std::int64_t step_b, const Each& each) {
  if (step_a == 1 && step_b == 1) {
    vectors::map(registers, count, to, each, a, b);
  } else if (step_a == 1) {
    vectors::map(
        registers, count, to,
        [&each, v = vectors::all(registers, *b)](auto x) LOCKSTEP_INLINED { return each(x, v); },
        a);
  } else if (step_b == 1) {
    vectors::map(
        registers, count, to,
        [&each, v = vectors::all(registers, *a)](auto x) LOCKSTEP_INLINED { return each(v, x); },
        b);
  } else {
    std::fill_n(to, count, each(*a, *b));
  }
}

template <typename Each>
void combine_by(Isa isa, const Tensor& a, const Tensor& b, const Tensor& c, const Each& each) {
  visit_real(a, [&]<typename T>() {
    const T *from_a = a.data<T>().data(), *from_b = b.data<T>().data();
    T* to = c.data<T>().data();
    walk(c.shape(), a.shape(), b.shape(),
         [&](std::int64_t at, std::int64_t at_a, std::int64_t at_b, std::int64_t count,
             std::int64_t step_a, std::int64_t step_b) {
           vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
             combine_run(registers, count, to + at, from_a + at_a, step_a, from_b + at_b, step_b,
                         each);
           });
         });
  });
}

}  // namespace

void combine(Isa isa, Binary operation, const Tensor& a, const Tensor& b, const Tensor& c) {
  switch (operation) {
    case Binary::add:
      return combine_by(isa, a, b, c, [](auto x, auto y) LOCKSTEP_INLINED { return x + y; });
    case Binary::subtract:
      return combine_by(isa, a, b, c, [](auto x, auto y) LOCKSTEP_INLINED { return x - y; });
    case Binary::multiply:
      return combine_by(isa, a, b, c, [](auto x, auto y) LOCKSTEP_INLINED { return x * y; });
  }
}

void scaled(Isa isa, const Tensor& x, double factor, const Tensor& y) {
  visit_real(x, [&]<typename T>() {
    vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
      vectors::map(
          registers, x.numel(), y.data<T>().data(),
          [by = static_cast<T>(factor)](auto v) LOCKSTEP_INLINED { return v * by; },
          x.data<T>().data());
    });
  });
}

void sum_to(Isa isa, const Tensor& x, const Tensor& total) {
  visit_real(x, [&]<typename T>() {
    const T* from = x.data<T>().data();
    T* to = total.data<T>().data();
    std::fill_n(to, total.numel(), T(0));
    walk(x.shape(), x.shape(), total.shape(),
         [&](std::int64_t, std::int64_t at, std::int64_t at_to, std::int64_t count, std::int64_t,
             std::int64_t step) {
           vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
             const auto plus = [](auto a, auto b) LOCKSTEP_INLINED { return a + b; };
             const auto same = [](auto a) LOCKSTEP_INLINED { return a; };
             const T* run = from + at;
             if (step == 1) {
               vectors::map(registers, count, to + at_to, plus, to + at_to, run);
             } else {
               to[at_to] += vectors::sum(registers, count, same, run);
             }
           });
         });
  });
}

void add_squares(Isa isa, const Tensor& x, const Tensor& total) {
  constexpr std::size_t lanes = 16;  // several sums, because an addition waits for the one before
  visit_real(x, [&]<typename T>() {
    const T* elements = x.data<T>().data();
    const auto count = static_cast<std::size_t>(x.numel());
    double sums[lanes] = {};
    vectors::vectorised(isa, [&](auto) LOCKSTEP_INLINED {
      const auto add = [&](std::size_t lane, T element) LOCKSTEP_INLINED {
        sums[lane] += static_cast<double>(element) * static_cast<double>(element);
      };
      const std::size_t whole = count / lanes * lanes;
      for (std::size_t i = 0; i < whole; i += lanes) {
#pragma GCC unroll 16
        for (std::size_t lane = 0; lane < lanes; ++lane) add(lane, elements[i + lane]);
      }
      for (std::size_t i = whole; i < count; ++i) add(i - whole, elements[i]);
    });
    double squares = 0;
    for (const double sum : sums) squares += sum;
    total.data<double>()[0] += squares;
  });
}

void clip_factor(const Tensor& squares, double max_norm, const Tensor& norm, const Tensor& factor) {
  const double length = std::sqrt(squares.data<double>()[0]);
  const double bound = max_norm / (length + 1e-6);
  norm.data<double>()[0] = length;
  factor.data<double>()[0] = max_norm > 0 && bound < 1 && std::isfinite(length) ? bound : 1;
}

void scale_by(const Tensor& x, const Tensor& factor) {
  const double by = factor.data<double>()[0];
  if (by != 1) scale(x, by);
}

}  // namespace lockstep::kernels
