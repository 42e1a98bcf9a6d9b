// One walk serves all shapes: the axes but the last are counted like an odometer, and the last is a
// run of elements in which each operand steps by 1 or stays.
#include "engine/tensor/broadcast.hpp"

#include <algorithm>
#include <vector>

#include "engine/tensor/operation.hpp"
#include "engine/tensor/vectors.hpp"

namespace lockstep::ops {
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

template <typename T, typename Each>
LOCKSTEP_INLINED inline void combine_run(std::int64_t count, T* to, const T* a, std::int64_t step_a,
                                         const T* b, std::int64_t step_b, const Each& each) {
  using vectors::all;
  if (step_a == 1 && step_b == 1) {
    vectors::map<T>(count, to, each, a, b);
  } else if (step_a == 1) {
    vectors::map<T>(
        count, to, [&each, v = all(*b)](auto x) LOCKSTEP_INLINED { return each(x, v); }, a);
  } else if (step_b == 1) {
    vectors::map<T>(
        count, to, [&each, v = all(*a)](auto x) LOCKSTEP_INLINED { return each(v, x); }, b);
  } else {
    std::fill_n(to, count, each(all(*a), all(*b))[0]);
  }
}

template <typename Each>
Tensor combine(const char* operation, const Tensor& a, const Tensor& b, const Each& each) {
  LOCKSTEP_CHECK(a.dtype() == b.dtype(), operation, ": ", name_of(a.dtype()), " and ",
                 name_of(b.dtype()), "; convert one of them");
  Tensor c = result(a, broadcast_shape(a.shape(), b.shape()));
  visit_float(operation, a, [&]<typename T>() {
    const T *from_a = a.data<T>().data(), *from_b = b.data<T>().data();
    T* to = c.data<T>().data();
    walk(c.shape(), a.shape(), b.shape(),
         [&](std::int64_t at, std::int64_t at_a, std::int64_t at_b, std::int64_t count,
             std::int64_t step_a, std::int64_t step_b) {
           vectors::vectorised([&]() LOCKSTEP_INLINED {
             combine_run(count, to + at, from_a + at_a, step_a, from_b + at_b, step_b, each);
           });
         });
  });
  charge(c, 1, 3);
  return c;
}

}  // namespace

Shape broadcast_shape(const Shape& a, const Shape& b) {
  Shape shape = a.size() >= b.size() ? a : b;
  const Shape& other = a.size() >= b.size() ? b : a;
  for (std::size_t i = 0; i < other.size(); ++i) {
    std::int64_t& size = shape[shape.size() - 1 - i];
    const std::int64_t wanted = other[other.size() - 1 - i];
    LOCKSTEP_CHECK(size == wanted || size == 1 || wanted == 1, "shapes ", text_of(a), " and ",
                   text_of(b), " do not broadcast: aligned at the last axis, sizes ", size, " and ",
                   wanted, " meet; they must be equal, or one of them 1");
    if (size == 1) size = wanted;
  }
  return shape;
}

Tensor add(const Tensor& a, const Tensor& b) {
  return combine("add", a, b, [](auto x, auto y) LOCKSTEP_INLINED { return x + y; });
}

Tensor subtract(const Tensor& a, const Tensor& b) {
  return combine("subtract", a, b, [](auto x, auto y) LOCKSTEP_INLINED { return x - y; });
}

Tensor multiply(const Tensor& a, const Tensor& b) {
  return combine("multiply", a, b, [](auto x, auto y) LOCKSTEP_INLINED { return x * y; });
}

Tensor scale(const Tensor& x, double factor) {
  Tensor y = result(x, x.shape());
  visit_float("scale", x, [&]<typename T>() {
    vectors::vectorised([&]() LOCKSTEP_INLINED {
      vectors::map<T>(
          x.numel(), y.data<T>().data(),
          [by = static_cast<T>(factor)](auto v) LOCKSTEP_INLINED { return v * by; },
          static_cast<const T*>(x.data<T>().data()));
    });
  });
  charge(x, 1, 2);
  return y;
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  LOCKSTEP_CHECK(broadcast_shape(x.shape(), shape) == x.shape(), "sum_to: ", text_of(shape),
                 " does not broadcast to ", text_of(x.shape()));
  Tensor total = result(x, shape);
  total.fill_(0);
  visit_float("sum_to", x, [&]<typename T>() {
    const T* from = x.data<T>().data();
    T* to = total.data<T>().data();
    walk(x.shape(), x.shape(), shape,
         [&](std::int64_t, std::int64_t at, std::int64_t at_to, std::int64_t count, std::int64_t,
             std::int64_t step) {
           vectors::vectorised([&]() LOCKSTEP_INLINED {
             const auto plus = [](auto a, auto b) LOCKSTEP_INLINED { return a + b; };
             const auto same = [](auto a) LOCKSTEP_INLINED { return a; };
             const T* run = from + at;
             if (step == 1) {
               vectors::map<T>(count, to + at_to, plus, static_cast<const T*>(to + at_to), run);
             } else {
               to[at_to] += vectors::sum<T>(count, same, run);
             }
           });
         });
  });
  charge(x, 1, 1);
  return total;
}

Tensor sum(const Tensor& x) {
  const Tensor total = sum_to(x.view({x.numel()}), {1});
  return x.numel() == 1 ? total.clone(MemoryKind::activations) : total;
}

double sum_of_squares(const Tensor& x) {
  constexpr std::size_t lanes = 16;  // several sums, because an addition waits for the one before
  check_has_numbers("sum_of_squares", x);
  double total = 0;
  visit_float("sum_of_squares", x, [&]<typename T>() {
    const T* elements = x.data<T>().data();
    const auto count = static_cast<std::size_t>(x.numel());
    double sums[lanes] = {};
    vectors::vectorised([&]() LOCKSTEP_INLINED {
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
    for (const double sum : sums) total += sum;
  });
  charge(x, 2, 1);
  return total;
}

}  // namespace lockstep::ops
