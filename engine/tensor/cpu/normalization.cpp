// Both norms are one computation; RMSNorm is LayerNorm with the mean taken as zero and no bias.
#include <algorithm>
#include <cmath>

#include "engine/tensor/cpu/kernel_table.hpp"
#include "engine/tensor/cpu/vector_sums.hpp"
#include "engine/tensor/cpu/visit_real.hpp"

namespace lockstep::kernels {
namespace {

// y = (x - mean)·scale·weight + bias, for one row.
template <int bytes, typename T>
LOCKSTEP_INLINED inline void write_row(vectors::Registers<bytes> registers, std::int64_t columns,
                                       const T* x, T mean, T scale, const T* weight, const T* bias,
                                       T* y) {
  if (bias == nullptr) {
    vectors::map(
        registers, columns, y,
        [=](auto v, auto w) LOCKSTEP_INLINED { return ((v - mean) * scale) * w; }, x, weight);
  } else {
    vectors::map(
        registers, columns, y,
        [=](auto v, auto w, auto b) LOCKSTEP_INLINED { return ((v - mean) * scale) * w + b; }, x,
        weight, bias);
  }
}

}  // namespace

void normalize(Isa isa, const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon,
               const Tensor& y, const Tensor& mean, const Tensor& inverse_deviation) {
  const auto [rows, columns] = rows_of(x);
  const bool centred = bias.defined();
  visit_real(x, [&, rows = rows, columns = columns]<typename T>() {
    const T *from = x.data<T>().data(), *w = weight.data<T>().data();
    const T* b = data_or_null<T>(bias);
    T *to = y.data<T>().data(), *scales = inverse_deviation.data<T>().data();
    T* means = data_or_null<T>(mean);
    vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
      const T count = static_cast<T>(columns);
      for (std::int64_t r = 0; r < rows; ++r) {
        const T* row = from + r * columns;
        T middle = 0;
        if (centred) {
          middle = vectors::sum(
                       registers, columns, [](auto v) LOCKSTEP_INLINED { return v; }, row) /
                   count;
        }
        // Two passes: the one-pass form Σx² - (Σx)² cancels when the mean is large. Lanes past the
        // row's end must add nothing, so they are read as the mean.
        const T squares = vectors::sum_and_rest(
            registers, columns, middle,
            [=](auto v) LOCKSTEP_INLINED { return (v - middle) * (v - middle); }, row);
        const T scale = T(1) / std::sqrt(squares / count + static_cast<T>(epsilon));
        if (centred) means[r] = middle;
        scales[r] = scale;
        write_row(registers, columns, row, middle, scale, w, b, to + r * columns);
      }
    });
  });
}

void normalize_again(Isa isa, const Tensor& x, const Tensor& weight, const Tensor& bias,
                     const Tensor& mean, const Tensor& inverse_deviation, const Tensor& y) {
  const auto [rows, columns] = rows_of(x);
  visit_real(x, [&, rows = rows, columns = columns]<typename T>() {
    const T *from = x.data<T>().data(), *w = weight.data<T>().data();
    const T *b = data_or_null<T>(bias), *means = data_or_null<T>(mean);
    const T* scales = inverse_deviation.data<T>().data();
    T* to = y.data<T>().data();
    vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
      for (std::int64_t r = 0; r < rows; ++r) {
        write_row(registers, columns, from + r * columns, means == nullptr ? T(0) : means[r],
                  scales[r], w, b, to + r * columns);
      }
    });
  });
}

// With n = (x - mean)·scale and h = grad·weight:
//   dx = scale·(h - mean(h) - n·mean(h·n)), dw = Σ grad·n, db = Σ grad over the rows.
void norm_backward(Isa isa, const Tensor& grad, const Tensor& x, const Tensor& weight,
                   const Tensor& mean, const Tensor& inverse_deviation, const Tensor& dx,
                   const Tensor& dweight, const Tensor& dbias) {
  const auto [rows, columns] = rows_of(x);
  const bool centred = mean.defined();
  visit_real(x, [&, rows = rows, columns = columns]<typename T>() {
    const T *g = grad.data<T>().data(), *from = x.data<T>().data(), *w = weight.data<T>().data();
    const T *means = data_or_null<T>(mean), *scales = inverse_deviation.data<T>().data();
    T *to = dx.data<T>().data(), *dw = dweight.data<T>().data();
    T* db = data_or_null<T>(dbias);
    std::fill_n(dw, columns, T(0));
    if (centred) std::fill_n(db, columns, T(0));
    vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
      for (std::int64_t r = 0; r < rows; ++r, g += columns, from += columns, to += columns) {
        const T m = centred ? means[r] : T(0), s = scales[r];
        const T mean_h =
            centred ? vectors::sum(
                          registers, columns,
                          [](auto gi, auto wi) LOCKSTEP_INLINED { return gi * wi; }, g, w) /
                          static_cast<T>(columns)
                    : T(0);
        // Lanes past the end carry a zero gradient, so what they see of x does not count.
        const T mean_hn = vectors::sum(
                              registers, columns,
                              [=](auto gi, auto wi, auto xi)
                                  LOCKSTEP_INLINED { return (gi * wi) * ((xi - m) * s); },
                              g, w, from) /
                          static_cast<T>(columns);
        vectors::map(
            registers, columns, to,
            [=](auto gi, auto wi, auto xi)
                LOCKSTEP_INLINED { return s * (gi * wi - mean_h - ((xi - m) * s) * mean_hn); },
            g, w, from);
        vectors::map(
            registers, columns, dw,
            [=](auto sum, auto gi, auto xi) LOCKSTEP_INLINED { return sum + gi * ((xi - m) * s); },
            dw, g, from);
        if (centred) {
          vectors::map(
              registers, columns, db, [](auto sum, auto gi) LOCKSTEP_INLINED { return sum + gi; },
              db, g);
        }
      }
    });
  });
}

}  // namespace lockstep::kernels
