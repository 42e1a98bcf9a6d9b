#include "engine/tensor/matmul.hpp"

#include "engine/tensor/kernels.hpp"
#include "engine/tensor/operation.hpp"
#include "engine/tensor/vectors.hpp"

namespace lockstep::ops {

Tensor matmul(const Tensor& a, Transpose transpose_a, const Tensor& b, Transpose transpose_b,
              const Tensor& into) {
  check_matrix("matmul", a);
  check_matrix("matmul", b);
  LOCKSTEP_CHECK(a.dtype() == b.dtype(), "matmul: ", name_of(a.dtype()), " times ",
                 name_of(b.dtype()), "; convert one of them");
  const bool turned_a = transpose_a == Transpose::yes;
  const bool turned_b = transpose_b == Transpose::yes;
  const std::int64_t m = a.size(turned_a ? 1 : 0), k = a.size(turned_a ? 0 : 1);
  const std::int64_t n = b.size(turned_b ? 0 : 1);
  LOCKSTEP_CHECK(b.size(turned_b ? 1 : 0) == k, "matmul: ", text_of(a.shape()), turned_a ? "ᵀ" : "",
                 " times ", text_of(b.shape()), turned_b ? "ᵀ" : "",
                 "; the inner sizes must be equal");
  LOCKSTEP_CHECK(!into.defined() || (into.shape() == Shape{m, n} && into.dtype() == a.dtype()),
                 "matmul: the product is ", name_of(a.dtype()), " ", text_of({m, n}),
                 ", what it shall be written into ", into.defined() ? name_of(into.dtype()) : "",
                 " ", into.defined() ? text_of(into.shape()) : "");
  Tensor c = into.defined() ? into : result(a, {m, n});
  visit_float("matmul", a, [&]<typename T>() {
    kernels::matmul(kernels::dense(m, n, k, transpose_a, transpose_b), a.data<T>().data(),
                    b.data<T>().data(), c.data<T>().data());
  });
  a.device().charge(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k),
                    static_cast<double>(a.bytes() + b.bytes() + c.bytes()));
  return c;
}

Tensor linear(const Tensor& x, const Tensor& weight) {
  const auto [rows, inputs] = rows_of("linear", x);
  Shape shape = x.shape();
  shape.back() = weight.size(0);
  return matmul(x.view({rows, inputs}), Transpose::no, weight, Transpose::yes)
      .view(std::move(shape));
}

void add_row_(const Tensor& x, const Tensor& row) {
  const auto [rows, columns] = rows_of("add_row_", x);
  check_vector("add_row_", "the row", row, x, columns);
  visit_float("add_row_", x, [&, rows = rows, columns = columns]<typename T>() {
    T* to = x.data<T>().data();
    const T* add = row.data<T>().data();
    vectors::vectorised([&]() LOCKSTEP_INLINED {
      for (std::int64_t i = 0; i < rows; ++i) {
        vectors::map<T>(
            columns, to + i * columns, [](auto a, auto b) LOCKSTEP_INLINED { return a + b; },
            to + i * columns, add);
      }
    });
  });
  charge(x, 1, 2);
}

Tensor sum_rows(const Tensor& x) {
  const auto [rows, columns] = rows_of("sum_rows", x);
  Tensor sum = result(x, {columns});
  sum.fill_(0);
  visit_float("sum_rows", x, [&, rows = rows, columns = columns]<typename T>() {
    const T* from = x.data<T>().data();
    T* to = sum.data<T>().data();
    vectors::vectorised([&]() LOCKSTEP_INLINED {
      for (std::int64_t i = 0; i < rows; ++i) {
        vectors::map<T>(
            columns, to, [](auto a, auto b) LOCKSTEP_INLINED { return a + b; }, to,
            from + i * columns);
      }
    });
  });
  charge(x, 1, 1);
  return sum;
}

}  // namespace lockstep::ops
