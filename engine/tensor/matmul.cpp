#include "engine/tensor/matmul.hpp"

#include "engine/tensor/operation.hpp"

namespace lockstep::ops {

Tensor matmul(const Tensor& a, Transpose transpose_a, const Tensor& b, Transpose transpose_b,
              const Tensor& into) {
  check_float("matmul", a);
  check_matrix("matmul", a);
  check_matrix("matmul", b);
  LOCKSTEP_CHECK(a.dtype() == b.dtype(), "matmul: ", name_of(a.dtype()), " times ",
                 name_of(b.dtype()), "; convert one of them");
  check_together("matmul", a, b);
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
  a.device().kernels().matmul(a, transpose_a, b, transpose_b, c);
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
  check_float("add_row_", x);
  const std::int64_t columns = rows_of("add_row_", x).width;
  check_vector("add_row_", "the row", row, x, columns);
  x.device().kernels().add_row(row, x);
  charge(x, 1, 2);
}

Tensor sum_rows(const Tensor& x) {
  check_float("sum_rows", x);
  const std::int64_t columns = rows_of("sum_rows", x).width;
  Tensor sum = result(x, {columns});
  x.device().kernels().sum_rows(x, sum);
  sum.device().charge(0, static_cast<double>(sum.bytes()));  // begins at zero
  charge(x, 1, 1);
  return sum;
}

}  // namespace lockstep::ops
