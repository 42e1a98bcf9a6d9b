// The operations as plain loops in index order, so that a result depends on its inputs only.
#include "engine/tensor/ops.hpp"

#include <algorithm>
#include <cmath>

#include "engine/tensor/kernels.hpp"
#include "engine/tensor/visit_float.hpp"

namespace lockstep::ops {
namespace {

void check_same(const char* operation, const Tensor& a, const Tensor& b) {
  LOCKSTEP_CHECK(a.dtype() == b.dtype() && a.shape() == b.shape(), operation, ": ",
                 name_of(a.dtype()), " ", text_of(a.shape()), " and ", name_of(b.dtype()), " ",
                 text_of(b.shape()), " differ; both need one dtype and one shape");
}

void check_rows(const char* operation, const Tensor& x) {
  LOCKSTEP_CHECK(x.shape().size() == 2, operation, ": shape ", text_of(x.shape()),
                 " is no matrix; view it as [rows, columns]");
}

Tensor result(const Tensor& like, Shape shape) {
  return empty(std::move(shape), like.dtype(), like.device(), MemoryKind::activations);
}

// What an elementwise operation costs: one FLOP an element, each operand and the result moved once.
void charge_elementwise(const Tensor& x, int tensors_moved) {
  x.device().charge(static_cast<double>(x.numel()), tensors_moved * static_cast<double>(x.bytes()));
}

template <typename Combine>
Tensor combine(const char* operation, const Tensor& a, const Tensor& b, Combine each) {
  check_same(operation, a, b);
  Tensor c = result(a, a.shape());
  visit_float(operation, a, [&]<typename T>() {
    std::ranges::transform(a.data<T>(), b.data<T>(), c.data<T>().begin(), each);
  });
  charge_elementwise(a, 3);
  return c;
}

// Labels as a span, each checked to lie in [0, classes).
std::span<const std::int64_t> checked_labels(const char* operation, const Tensor& logits,
                                             const Tensor& labels) {
  check_rows(operation, logits);
  LOCKSTEP_CHECK(labels.shape() == Shape{logits.size(0)}, operation, ": logits ",
                 text_of(logits.shape()), " need one label a row, got labels ",
                 text_of(labels.shape()));
  const auto values = labels.data<std::int64_t>();
  for (std::size_t row = 0; row < values.size(); ++row) {
    LOCKSTEP_CHECK(values[row] >= 0 && values[row] < logits.size(1), operation, ": label ",
                   values[row], " of row ", row, " is outside [0, ", logits.size(1), ")");
  }
  return values;
}

}  // namespace

Tensor matmul(const Tensor& a, Transpose transpose_a, const Tensor& b, Transpose transpose_b) {
  check_rows("matmul", a);
  check_rows("matmul", b);
  LOCKSTEP_CHECK(a.dtype() == b.dtype(), "matmul: ", name_of(a.dtype()), " times ",
                 name_of(b.dtype()), "; convert one of them");
  const bool turned_a = transpose_a == Transpose::yes;
  const bool turned_b = transpose_b == Transpose::yes;
  const std::int64_t m = a.size(turned_a ? 1 : 0), k = a.size(turned_a ? 0 : 1);
  const std::int64_t n = b.size(turned_b ? 0 : 1);
  LOCKSTEP_CHECK(b.size(turned_b ? 1 : 0) == k, "matmul: ", text_of(a.shape()), turned_a ? "ᵀ" : "",
                 " times ", text_of(b.shape()), turned_b ? "ᵀ" : "",
                 "; the inner sizes must be equal");
  Tensor c = result(a, {m, n});
  visit_float("matmul", a, [&]<typename T>() {
    kernels::matmul({m, n, k, transpose_a, transpose_b}, a.data<T>().data(), b.data<T>().data(),
                    c.data<T>().data());
  });
  a.device().charge(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k),
                    static_cast<double>(a.bytes() + b.bytes() + c.bytes()));
  return c;
}

Tensor add_row(const Tensor& x, const Tensor& row) {
  check_rows("add_row", x);
  LOCKSTEP_CHECK(row.shape() == Shape{x.size(1)} && row.dtype() == x.dtype(),
                 "add_row: ", name_of(x.dtype()), " ", text_of(x.shape()), " plus ",
                 name_of(row.dtype()), " ", text_of(row.shape()),
                 "; the row needs one element a column, of one dtype");
  Tensor sum = result(x, x.shape());
  const std::int64_t rows = x.size(0), columns = x.size(1);
  visit_float("add_row", x, [&]<typename T>() {
    const T* from = x.data<T>().data();
    const T* add = row.data<T>().data();
    T* to = sum.data<T>().data();
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j)
        to[i * columns + j] = from[i * columns + j] + add[j];
    }
  });
  charge_elementwise(x, 2);
  return sum;
}

Tensor sum_rows(const Tensor& x) {
  check_rows("sum_rows", x);
  Tensor sum = result(x, {x.size(1)});
  sum.fill_(0);
  const std::int64_t rows = x.size(0), columns = x.size(1);
  visit_float("sum_rows", x, [&]<typename T>() {
    const T* from = x.data<T>().data();
    T* to = sum.data<T>().data();
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) to[j] += from[i * columns + j];
    }
  });
  charge_elementwise(x, 1);
  return sum;
}

Tensor relu(const Tensor& x) {
  Tensor y = result(x, x.shape());
  visit_float("relu", x, [&]<typename T>() {
    // Written so that a NaN stays a NaN: a diverged run must not look healthy.
    std::ranges::transform(x.data<T>(), y.data<T>().begin(),
                           [](T value) { return value < T(0) ? T(0) : value; });
  });
  charge_elementwise(x, 2);
  return y;
}

Tensor relu_backward(const Tensor& grad, const Tensor& output) {
  return combine("relu_backward", grad, output,
                 []<typename T>(T g, T y) { return y > T(0) ? g : T(0); });
}

Tensor add(const Tensor& a, const Tensor& b) {
  return combine("add", a, b, []<typename T>(T x, T y) { return x + y; });
}

Tensor multiply(const Tensor& a, const Tensor& b) {
  return combine("multiply", a, b, []<typename T>(T x, T y) { return x * y; });
}

CrossEntropy cross_entropy(const Tensor& logits, const Tensor& labels) {
  const auto label = checked_labels("cross_entropy", logits, labels);
  const std::int64_t rows = logits.size(0), classes = logits.size(1);
  LOCKSTEP_CHECK(rows > 0, "cross_entropy: the mean of an empty batch is undefined");
  CrossEntropy out{result(logits, {1}), result(logits, logits.shape())};
  visit_float("cross_entropy", logits, [&]<typename T>() {
    double total = 0;  // rows in order
    for (std::int64_t i = 0; i < rows; ++i) {
      const T* x = logits.data<T>().data() + i * classes;
      T* p = out.probabilities.data<T>().data() + i * classes;
      const double largest = *std::max_element(x, x + classes);
      double sum = 0;
      for (std::int64_t j = 0; j < classes; ++j) sum += std::exp(double(x[j]) - largest);
      for (std::int64_t j = 0; j < classes; ++j) p[j] = T(std::exp(double(x[j]) - largest) / sum);
      total += std::log(sum) + largest - double(x[label[static_cast<std::size_t>(i)]]);
    }
    out.loss.data<T>()[0] = T(total / static_cast<double>(rows));
  });
  charge_elementwise(logits, 2);
  return out;
}

Tensor cross_entropy_backward(double grad, const Tensor& probabilities, const Tensor& labels) {
  const auto label = checked_labels("cross_entropy_backward", probabilities, labels);
  const std::int64_t rows = probabilities.size(0), classes = probabilities.size(1);
  Tensor out = result(probabilities, probabilities.shape());
  visit_float("cross_entropy_backward", probabilities, [&]<typename T>() {
    const T* p = probabilities.data<T>().data();
    T* to = out.data<T>().data();
    const T scale = T(grad / static_cast<double>(rows));
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < classes; ++j) {
        const T target = j == label[static_cast<std::size_t>(i)] ? T(1) : T(0);
        to[i * classes + j] = (p[i * classes + j] - target) * scale;
      }
    }
  });
  charge_elementwise(probabilities, 2);
  return out;
}

std::int64_t count_correct(const Tensor& logits, const Tensor& labels) {
  const auto label = checked_labels("count_correct", logits, labels);
  const std::int64_t classes = logits.size(1);
  std::int64_t correct = 0;
  visit_float("count_correct", logits, [&]<typename T>() {
    for (std::size_t i = 0; i < label.size(); ++i) {
      const T* x = logits.data<T>().data() + static_cast<std::int64_t>(i) * classes;
      correct += (std::max_element(x, x + classes) - x) == label[i] ? 1 : 0;
    }
  });
  charge_elementwise(logits, 1);
  return correct;
}

}  // namespace lockstep::ops
