#include "engine/tensor/softmax.hpp"

#include <algorithm>
#include <span>

#include "engine/tensor/operation.hpp"
#include "engine/tensor/vectors.hpp"

namespace lockstep::ops {
namespace {

// y = e^(x - largest), and the sum of y.
template <typename T>
LOCKSTEP_INLINED inline T exponentials(std::int64_t count, const T* x, T largest, T* y) {
  vectors::map<T>(
      count, y, [=](auto v) LOCKSTEP_INLINED { return vectors::exp(v - largest); }, x);
  return vectors::sum<T>(
      count, [](auto v) LOCKSTEP_INLINED { return v; }, static_cast<const T*>(y));
}

template <typename T>
LOCKSTEP_INLINED inline void multiply(std::int64_t count, T* y, T factor) {
  vectors::map<T>(
      count, y, [=](auto v) LOCKSTEP_INLINED { return v * factor; }, static_cast<const T*>(y));
}

struct Labels {
  std::span<const std::int64_t> values;
  std::int64_t counted = 0;  // not ignored
};

Labels checked_labels(const char* operation, const Tensor& logits, const Tensor& labels,
                      std::int64_t ignored) {
  const auto [rows, classes] = rows_of(operation, logits);
  Shape expected = logits.shape();
  expected.pop_back();
  LOCKSTEP_CHECK(labels.shape() == expected || labels.shape() == Shape{rows}, operation,
                 ": logits ", text_of(logits.shape()), " need labels ", text_of(expected),
                 ", got labels ", text_of(labels.shape()));
  Labels checked{labels.data<std::int64_t>()};
  for (std::size_t row = 0; row < checked.values.size(); ++row) {
    const std::int64_t label = checked.values[row];
    if (label == ignored) continue;
    LOCKSTEP_CHECK(label >= 0 && label < classes, operation, ": label ", label, " of row ", row,
                   " is outside [0, ", classes, ")");
    ++checked.counted;
  }
  return checked;
}

double share_of(const CrossEntropyOptions& options, const Labels& labels) {
  return options.reduction == Reduction::mean ? 1 / static_cast<double>(labels.counted) : 1;
}

}  // namespace

Tensor softmax(const Tensor& x) {
  const auto [rows, columns] = rows_of("softmax", x);
  Tensor y = result(x, x.shape());
  visit_float("softmax", x, [&, rows = rows, columns = columns]<typename T>() {
    const T* from = x.data<T>().data();
    T* to = y.data<T>().data();
    vectors::vectorised([&]() LOCKSTEP_INLINED {
      for (std::int64_t r = 0; r < rows; ++r, from += columns, to += columns) {
        multiply(columns, to,
                 1 / exponentials(columns, from, vectors::largest<T>(columns, from), to));
      }
    });
  });
  charge(x, 13, 2);
  return y;
}

Tensor softmax_backward(const Tensor& grad, const Tensor& y) {
  check_same("softmax_backward", grad, y);
  const auto [rows, columns] = rows_of("softmax_backward", y);
  Tensor out = result(y, y.shape());
  visit_float("softmax_backward", y, [&, rows = rows, columns = columns]<typename T>() {
    const T *g = grad.data<T>().data(), *p = y.data<T>().data();
    T* to = out.data<T>().data();
    vectors::vectorised([&]() LOCKSTEP_INLINED {
      for (std::int64_t r = 0; r < rows; ++r, g += columns, p += columns, to += columns) {
        const T dot = vectors::sum<T>(
            columns, [](auto a, auto b) LOCKSTEP_INLINED { return a * b; }, g, p);
        vectors::map<T>(
            columns, to, [=](auto a, auto b) LOCKSTEP_INLINED { return b * (a - dot); }, g, p);
      }
    });
  });
  charge(y, 4, 3);
  return out;
}

CrossEntropy cross_entropy(const Tensor& logits, const Tensor& labels,
                           const CrossEntropyOptions& options) {
  const auto [rows, classes] = rows_of("cross_entropy", logits);
  CrossEntropy out{result(logits, {1}), result(logits, logits.shape())};
  visit_float("cross_entropy", logits, [&, rows = rows, classes = classes]<typename T>() {
    const Labels label = checked_labels("cross_entropy", logits, labels, options.ignored_label);
    LOCKSTEP_CHECK(label.counted > 0 || options.reduction == Reduction::sum,
                   "cross_entropy: the mean of an empty batch, or of one whose labels are all ",
                   options.ignored_label, ", is undefined; use Reduction::sum");
    const T* x = logits.data<T>().data();
    T* p = out.probabilities.data<T>().data();
    double total = 0;
    vectors::vectorised([&]() LOCKSTEP_INLINED {
      for (std::int64_t r = 0; r < rows; ++r, x += classes, p += classes) {
        const T most = vectors::largest<T>(classes, x);
        const T sum = exponentials(classes, x, most, p);
        multiply(classes, p, 1 / sum);
        const std::int64_t k = label.values[static_cast<std::size_t>(r)];
        if (k == options.ignored_label) continue;
        total += std::log(static_cast<double>(sum)) +
                 (static_cast<double>(most) - static_cast<double>(x[k]));
      }
    });
    out.loss.data<T>()[0] = static_cast<T>(total * share_of(options, label));
  });
  charge(logits, 13, 2);
  return out;
}

Tensor cross_entropy_backward(double grad, const Tensor& probabilities, const Tensor& labels,
                              const CrossEntropyOptions& options) {
  const auto [rows, classes] = rows_of("cross_entropy_backward", probabilities);
  Tensor out = result(probabilities, probabilities.shape());
  visit_float(
      "cross_entropy_backward", probabilities, [&, rows = rows, classes = classes]<typename T>() {
        const Labels label =
            checked_labels("cross_entropy_backward", probabilities, labels, options.ignored_label);
        const T* p = probabilities.data<T>().data();
        T* to = out.data<T>().data();
        const T factor = static_cast<T>(grad * share_of(options, label));
        vectors::vectorised([&]() LOCKSTEP_INLINED {
          for (std::int64_t r = 0; r < rows; ++r, p += classes, to += classes) {
            const std::int64_t k = label.values[static_cast<std::size_t>(r)];
            if (k == options.ignored_label) {
              std::fill_n(to, classes, T(0));
              continue;
            }
            vectors::map<T>(
                classes, to, [=](auto v) LOCKSTEP_INLINED { return v * factor; }, p);
            to[k] = (p[k] - T(1)) * factor;
          }
        });
      });
  charge(probabilities, 1, 2);
  return out;
}

std::int64_t count_correct(const Tensor& logits, const Tensor& labels,
                           const CrossEntropyOptions& options) {
  check_has_numbers("count_correct", logits);
  const std::int64_t classes = rows_of("count_correct", logits).width;
  const Labels label = checked_labels("count_correct", logits, labels, options.ignored_label);
  std::int64_t correct = 0;
  visit_float("count_correct", logits, [&]<typename T>() {
    const T* x = logits.data<T>().data();
    for (const std::int64_t wanted : label.values) {
      correct += (std::max_element(x, x + classes) - x) == wanted ? 1 : 0;
      x += classes;
    }
  });
  charge(logits, 1, 1);
  return correct;
}

}  // namespace lockstep::ops
