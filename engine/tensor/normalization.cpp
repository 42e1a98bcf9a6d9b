// Both norms are one computation; RMSNorm is LayerNorm with the mean taken as zero and no bias.
#include "engine/tensor/normalization.hpp"

#include "engine/tensor/operation.hpp"
#include "engine/tensor/vectors.hpp"

namespace lockstep::ops {
namespace {

// y = (x - mean)·scale·weight + bias, for one row.
template <typename T>
LOCKSTEP_INLINED inline void write_row(std::int64_t columns, const T* x, T mean, T scale,
                                       const T* weight, const T* bias, T* y) {
  if (bias == nullptr) {
    vectors::map<T>(
        columns, y, [=](auto v, auto w) LOCKSTEP_INLINED { return ((v - mean) * scale) * w; }, x,
        weight);
  } else {
    vectors::map<T>(
        columns, y,
        [=](auto v, auto w, auto b) LOCKSTEP_INLINED { return ((v - mean) * scale) * w + b; }, x,
        weight, bias);
  }
}

template <typename T>
const T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>().data() : nullptr;
}

Normalized normalize(const char* operation, const Tensor& x, const Tensor& weight,
                     const Tensor& bias, double epsilon) {
  const auto [rows, columns] = rows_of(operation, x);
  check_vector(operation, "the weight", weight, x, columns);
  if (bias.defined()) check_vector(operation, "the bias", bias, x, columns);
  const bool centred = bias.defined();
  Normalized out{result(x, x.shape()), centred ? result(x, {rows}) : Tensor(), result(x, {rows})};
  visit_float(operation, x, [&, rows = rows, columns = columns]<typename T>() {
    const T *from = x.data<T>().data(), *w = weight.data<T>().data();
    const T* b = data_or_null<T>(bias);
    T *to = out.y.data<T>().data(), *scales = out.inverse_deviation.data<T>().data();
    T* means = centred ? out.mean.data<T>().data() : nullptr;
    vectors::vectorised([&]() LOCKSTEP_INLINED {
      const T count = static_cast<T>(columns);
      for (std::int64_t r = 0; r < rows; ++r) {
        const T* row = from + r * columns;
        T mean = 0;
        if (centred) {
          mean = vectors::sum<T>(
                     columns, [](auto v) LOCKSTEP_INLINED { return v; }, row) /
                 count;
        }
        // Two passes: the one-pass form Σx² - (Σx)² cancels when the mean is large. Lanes past the
        // row's end must add nothing, so they are read as the mean.
        vectors::Lanes<T> squares{};
        std::int64_t i = 0;
        for (; i + vectors::width<T> <= columns; i += vectors::width<T>) {
          const auto d = vectors::load<T>(row + i) - mean;
          squares += d * d;
        }
        if (i < columns) {
          const auto d = vectors::load_part<T>(row + i, columns - i, mean) - mean;
          squares += d * d;
        }
        const T scale =
            T(1) / std::sqrt(vectors::sum_of<T>(squares) / count + static_cast<T>(epsilon));
        if (centred) means[r] = mean;
        scales[r] = scale;
        write_row(columns, row, mean, scale, w, b, to + r * columns);
      }
    });
  });
  charge(x, 8, 2);
  return out;
}

}  // namespace

Normalized layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon) {
  LOCKSTEP_CHECK(bias.defined(), "layer_norm: the bias is undefined; rms_norm has none");
  return normalize("layer_norm", x, weight, bias, epsilon);
}

Normalized rms_norm(const Tensor& x, const Tensor& weight, double epsilon) {
  return normalize("rms_norm", x, weight, {}, epsilon);
}

Tensor normalize_again(const Tensor& x, const Tensor& weight, const Tensor& bias,
                       const Tensor& mean, const Tensor& inverse_deviation) {
  const auto [rows, columns] = rows_of("normalize_again", x);
  Tensor y = result(x, x.shape());
  visit_float("normalize_again", x, [&, rows = rows, columns = columns]<typename T>() {
    const T *from = x.data<T>().data(), *w = weight.data<T>().data();
    const T *b = data_or_null<T>(bias), *means = data_or_null<T>(mean);
    const T* scales = inverse_deviation.data<T>().data();
    T* to = y.data<T>().data();
    vectors::vectorised([&]() LOCKSTEP_INLINED {
      for (std::int64_t r = 0; r < rows; ++r) {
        write_row(columns, from + r * columns, means == nullptr ? T(0) : means[r], scales[r], w, b,
                  to + r * columns);
      }
    });
  });
  charge(x, 4, 2);
  return y;
}

// With n = (x - mean)·scale and h = grad·weight:
//   dx = scale·(h - mean(h) - n·mean(h·n)), dw = Σ grad·n, db = Σ grad over the rows.
NormGradients norm_backward(const Tensor& grad, const Tensor& x, const Tensor& weight,
                            const Tensor& mean, const Tensor& inverse_deviation) {
  check_same("norm_backward", grad, x);
  const auto [rows, columns] = rows_of("norm_backward", x);
  const bool centred = mean.defined();
  NormGradients out{result(x, x.shape()), result(x, {columns}),
                    centred ? result(x, {columns}) : Tensor()};
  out.weight.fill_(0);
  if (centred) out.bias.fill_(0);
  visit_float("norm_backward", x, [&, rows = rows, columns = columns]<typename T>() {
    const T *g = grad.data<T>().data(), *from = x.data<T>().data(), *w = weight.data<T>().data();
    const T *means = data_or_null<T>(mean), *scales = inverse_deviation.data<T>().data();
    T *to = out.x.data<T>().data(), *dw = out.weight.data<T>().data();
    T* db = centred ? out.bias.data<T>().data() : nullptr;
    vectors::vectorised([&]() LOCKSTEP_INLINED {
      for (std::int64_t r = 0; r < rows; ++r, g += columns, from += columns, to += columns) {
        const T m = centred ? means[r] : T(0), s = scales[r];
        const T mean_h =
            centred
                ? vectors::sum<T>(
                      columns, [](auto gi, auto wi) LOCKSTEP_INLINED { return gi * wi; }, g, w) /
                      static_cast<T>(columns)
                : T(0);
        // Lanes past the end carry a zero gradient, so what they see of x does not count.
        const T mean_hn = vectors::sum<T>(
                              columns,
                              [=](auto gi, auto wi, auto xi)
                                  LOCKSTEP_INLINED { return (gi * wi) * ((xi - m) * s); },
                              g, w, from) /
                          static_cast<T>(columns);
        vectors::map<T>(
            columns, to,
            [=](auto gi, auto wi, auto xi)
                LOCKSTEP_INLINED { return s * (gi * wi - mean_h - ((xi - m) * s) * mean_hn); },
            g, w, from);
        vectors::map<T>(
            columns, dw,
            [=](auto sum, auto gi, auto xi) LOCKSTEP_INLINED { return sum + gi * ((xi - m) * s); },
            static_cast<const T*>(dw), g, from);
        if (centred) {
          vectors::map<T>(
              columns, db, [](auto sum, auto gi) LOCKSTEP_INLINED { return sum + gi; },
              static_cast<const T*>(db), g);
        }
      }
    });
  });
  charge(x, 14, 3);
  return out;
}

}  // namespace lockstep::ops
