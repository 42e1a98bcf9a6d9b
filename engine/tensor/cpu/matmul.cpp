// Products of matrices by whoever the device was made with, and what is done with rows.
#include <algorithm>

#include "engine/tensor/cpu/kernel_table.hpp"
#include "engine/tensor/cpu/vectors.hpp"
#include "engine/tensor/cpu/visit_real.hpp"

namespace lockstep::kernels {

using ops::Transpose;

void matmul(const Products& products, const Tensor& a, Transpose transpose_a, const Tensor& b,
            Transpose transpose_b, const Tensor& c) {
  const std::int64_t k = a.size(transpose_a == Transpose::yes ? 0 : 1);
  visit_real(a, [&]<typename T>() {
    products(dense(c.size(0), c.size(1), k, transpose_a, transpose_b), a.data<T>().data(),
             b.data<T>().data(), c.data<T>().data());
  });
}

void add_row(Isa isa, const Tensor& row, const Tensor& x) {
  const auto [rows, columns] = rows_of(x);
  visit_real(x, [&, rows = rows, columns = columns]<typename T>() {
    T* to = x.data<T>().data();
    const T* add = row.data<T>().data();
    vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
      for (std::int64_t i = 0; i < rows; ++i) {
        vectors::map(
            registers, columns, to + i * columns,
            [](auto a, auto b) LOCKSTEP_INLINED { return a + b; }, to + i * columns, add);
      }
    });
  });
}

void sum_rows(Isa isa, const Tensor& x, const Tensor& sum) {
  const auto [rows, columns] = rows_of(x);
  visit_real(x, [&, rows = rows, columns = columns]<typename T>() {
    const T* from = x.data<T>().data();
    T* to = sum.data<T>().data();
    std::fill_n(to, columns, T(0));
    vectors::vectorised(isa, [&](auto registers) LOCKSTEP_INLINED {
      for (std::int64_t i = 0; i < rows; ++i) {
        vectors::map(
            registers, columns, to, [](auto a, auto b) LOCKSTEP_INLINED { return a + b; }, to,
            from + i * columns);
      }
    });
  });
}

}  // namespace lockstep::kernels
