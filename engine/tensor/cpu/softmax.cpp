// Softmax by rows, and the loss and the score that stand on it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/tensor/cpu/kernel_table.hpp"
#include "engine/tensor/cpu/vector_functions.hpp"
#include "engine/tensor/cpu/vector_sums.hpp"
#include "engine/tensor/cpu/visit_real.hpp"

namespace lockstep::kernels {
namespace {

// y = e^(x - largest), and the sum of y.
template <int bytes, typename T>
LOCKSTEP_INLINED inline T exponentials(vectors::Registers<bytes> registers, std::int64_t count,
                                       const T* x, T largest, T* y) {
  return vectors::map_and_sum(
      registers, count, y, [=](auto v) LOCKSTEP_INLINED { return vectors::exp(v - largest); }, x);
}

template <int bytes, typename T>
LOCKSTEP_INLINED inline void multiply(vectors::Registers<bytes> registers, std::int64_t count, T* y,
                                      T factor) {
  vectors::map(
      registers, count, y, [=](auto v) LOCKSTEP_INLINED { return v * factor; }, y);
}

// The factor of a row's term.
double share_of(const ops::CrossEntropyOptions& options, std::span<const std::int64_t> labels) {
  if (options.reduction == ops::Reduction::sum) return 1;
  const auto ignored = std::ranges::count(labels, options.ignored_label);
  return 1 / static_cast<double>(std::ssize(labels) - ignored);
}

// Labels were looked at before, by check_indices; where that tells later, wrong ones add nothing.
bool counts(std::int64_t label, std::int64_t classes, const ops::CrossEntropyOptions& options) {
  return label != options.ignored_label && label >= 0 && label < classes;
}

}  // namespace

void softmax(Isa isa, const Tensor& x, const Tensor& y) {
  const auto [rows, columns] = rows_of(x);
  visit_real(x, [&, rows = rows, columns = columns]<typename T>() {
    const T* from = x.data<T>().data();
    T* to = y.data<T>().data();
    vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
      for (std::int64_t r = 0; r < rows; ++r, from += columns, to += columns) {
        multiply(registers, columns, to,
                 1 / exponentials(registers, columns, from,
                                  vectors::largest(registers, columns, from), to));
      }
    });
  });
}

void softmax_backward(Isa isa, const Tensor& grad, const Tensor& y, const Tensor& out) {
  const auto [rows, columns] = rows_of(y);
  visit_real(y, [&, rows = rows, columns = columns]<typename T>() {
    const T *g = grad.data<T>().data(), *p = y.data<T>().data();
    T* to = out.data<T>().data();
    vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
      for (std::int64_t r = 0; r < rows; ++r, g += columns, p += columns, to += columns) {
        const T dot = vectors::sum(
            registers, columns, [](auto a, auto b) LOCKSTEP_INLINED { return a * b; }, g, p);
        vectors::map(
            registers, columns, to, [=](auto a, auto b) LOCKSTEP_INLINED { return b * (a - dot); },
            g, p);
      }
    });
  });
}

void cross_entropy(Isa isa, const Tensor& logits, const Tensor& labels,
                   const ops::CrossEntropyOptions& options, const Tensor& probabilities,
                   const Tensor& loss) {
  const auto [rows, classes] = rows_of(logits);
  const auto wanted = labels.data<std::int64_t>();
  visit_real(logits, [&, rows = rows, classes = classes]<typename T>() {
    const T* x = logits.data<T>().data();
    T* p = probabilities.data<T>().data();
    double total = 0;
    vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
      for (std::int64_t r = 0; r < rows; ++r, x += classes, p += classes) {
        const T most = vectors::largest(registers, classes, x);
        const T sum = exponentials(registers, classes, x, most, p);
        multiply(registers, classes, p, 1 / sum);
        const std::int64_t k = wanted[static_cast<std::size_t>(r)];
        if (!counts(k, classes, options)) continue;
        total += std::log(static_cast<double>(sum)) +
                 (static_cast<double>(most) - static_cast<double>(x[k]));
      }
    });
    loss.data<T>()[0] = static_cast<T>(total * share_of(options, wanted));
  });
}

void cross_entropy_backward(Isa isa, const Tensor& grad, const Tensor& probabilities,
                            const Tensor& labels, const ops::CrossEntropyOptions& options,
                            const Tensor& out) {
  const auto [rows, classes] = rows_of(probabilities);
  const auto wanted = labels.data<std::int64_t>();
  visit_real(probabilities, [&, rows = rows, classes = classes]<typename T>() {
    const T* p = probabilities.data<T>().data();
    T* to = out.data<T>().data();
    const T factor = static_cast<T>(grad.item() * share_of(options, wanted));
    vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
      for (std::int64_t r = 0; r < rows; ++r, p += classes, to += classes) {
        const std::int64_t k = wanted[static_cast<std::size_t>(r)];
        if (!counts(k, classes, options)) {
          std::fill_n(to, classes, T(0));
          continue;
        }
        vectors::map(
            registers, classes, to, [=](auto v) LOCKSTEP_INLINED { return v * factor; }, p);
        to[k] = (p[k] - T(1)) * factor;
      }
    });
  });
}

void row_maximum(Isa isa, const Tensor& logits, const ops::ColumnSplit& columns,
                 const Tensor& maximum) {
  const std::int64_t width = rows_of(logits).width;
  visit_real(logits, [&]<typename T>() {
    const T* x = logits.data<T>().data();
    vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
      for (T& most : maximum.data<T>()) {
        most = vectors::largest(registers, columns.count, x);
        x += width;
      }
    });
  });
}

void sum_of_exponentials(Isa isa, const Tensor& logits, const Tensor& maximum,
                         const ops::ColumnSplit& columns, const Tensor& sum) {
  const std::int64_t width = rows_of(logits).width;
  visit_real(logits, [&]<typename T>() {
    constexpr T nothing = -std::numeric_limits<T>::infinity();  // its exponential is 0
    const T *x = logits.data<T>().data(), *most = maximum.data<T>().data();
    vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
      for (T& total : sum.data<T>()) {
        const T largest = *most++;
        total = vectors::sum_and_rest(
            registers, columns.count, nothing,
            [=](auto v) LOCKSTEP_INLINED { return vectors::exp(v - largest); }, x);
        x += width;
      }
    });
  });
}

void picked_logits(const Tensor& logits, const Tensor& labels, const ops::ColumnSplit& columns,
                   const ops::CrossEntropyOptions& options, const Tensor& picked) {
  const std::int64_t width = rows_of(logits).width;
  visit_real(logits, [&]<typename T>() {
    const T* x = logits.data<T>().data();
    T* to = picked.data<T>().data();
    for (const std::int64_t label : labels.data<std::int64_t>()) {
      const std::int64_t k = label - columns.first;
      *to++ = label != options.ignored_label && k >= 0 && k < columns.count ? x[k] : T(0);
      x += width;
    }
  });
}

void split_cross_entropy(const Tensor& maximum, const Tensor& sum, const Tensor& picked,
                         const Tensor& labels, const ops::CrossEntropyOptions& options,
                         const Tensor& loss) {
  const auto wanted = labels.data<std::int64_t>();
  visit_real(loss, [&]<typename T>() {
    const auto most = maximum.data<T>(), sums = sum.data<T>(), logit = picked.data<T>();
    double total = 0;
    for (std::size_t r = 0; r < wanted.size(); ++r) {
      if (wanted[r] == options.ignored_label) continue;
      total += std::log(static_cast<double>(sums[r])) +
               (static_cast<double>(most[r]) - static_cast<double>(logit[r]));
    }
    loss.data<T>()[0] = static_cast<T>(total * share_of(options, wanted));
  });
}

void split_cross_entropy_backward(Isa isa, const Tensor& grad, const Tensor& logits,
                                  const Tensor& maximum, const Tensor& sum, const Tensor& labels,
                                  const ops::ColumnSplit& columns,
                                  const ops::CrossEntropyOptions& options, const Tensor& out) {
  const std::int64_t width = rows_of(logits).width, count = columns.count;
  const auto wanted = labels.data<std::int64_t>();
  visit_real(logits, [&]<typename T>() {
    const T *x = logits.data<T>().data(), *most = maximum.data<T>().data(),
            *sums = sum.data<T>().data();
    T* to = out.data<T>().data();
    const T factor = static_cast<T>(grad.item() * share_of(options, wanted));
    vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
      for (std::size_t r = 0; r < wanted.size(); ++r, x += width, to += width) {
        const bool counted = counts(wanted[r], columns.whole, options);
        std::fill_n(to + (counted ? count : 0), counted ? width - count : width, T(0));
        if (!counted) continue;
        const T largest = most[r], inverse = 1 / sums[r];
        vectors::map(
            registers, count, to,
            [=](auto v) LOCKSTEP_INLINED { return vectors::exp(v - largest) * inverse; }, x);
        const std::int64_t k = wanted[r] - columns.first;
        const bool here = k >= 0 && k < count;
        const T at_label = here ? (to[k] - T(1)) * factor : T(0);
        multiply(registers, count, to, factor);
        if (here) to[k] = at_label;
      }
    });
  });
}

void count_correct(const Tensor& logits, const Tensor& labels, const Tensor& count) {
  const std::int64_t classes = rows_of(logits).width;
  std::int64_t correct = 0;
  visit_real(logits, [&]<typename T>() {
    const T* x = logits.data<T>().data();
    for (const std::int64_t wanted : labels.data<std::int64_t>()) {
      correct += (std::max_element(x, x + classes) - x) == wanted ? 1 : 0;
      x += classes;
    }
  });
  count.data<std::int64_t>()[0] = correct;
}

}  // namespace lockstep::kernels
