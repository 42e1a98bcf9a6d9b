// One suite over every provider of the matrix product; each executable links one.
#include "engine/tensor/cpu/products.hpp"

#include <cmath>
#include <vector>

#include "engine/base/random.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using ops::Transpose;

namespace {

template <typename T>
std::vector<T> numbers(std::int64_t count, std::uint64_t seed, double scale) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const double u = random_uniform(seed, static_cast<std::uint64_t>(i)) * 2 - 1;
    values.push_back(static_cast<T>(scale > 1 ? std::floor(u * scale) : u));
  }
  return values;
}

// The textbook's three loops: each element one sum over k in order, products rounded.
template <typename T>
std::vector<T> product_by_definition(const kernels::Product& s, const std::vector<T>& a,
                                     const std::vector<T>& b) {
  std::vector<T> c(static_cast<std::size_t>(s.m * s.n));
  auto at = [](const std::vector<T>& x, std::int64_t i) { return x[static_cast<std::size_t>(i)]; };
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      T sum = 0;
      for (std::int64_t k = 0; k < s.k; ++k) {
        volatile T product = at(a, s.transpose_a == Transpose::yes ? k * s.m + i : i * s.k + k) *
                             at(b, s.transpose_b == Transpose::yes ? j * s.k + k : k * s.n + j);
        sum += product;
      }
      c[static_cast<std::size_t>(i * s.n + j)] = sum;
    }
  }
  return c;
}

template <typename T>
std::vector<T> product(const kernels::Product& s, const std::vector<T>& a,
                       const std::vector<T>& b) {
  std::vector<T> c(static_cast<std::size_t>(s.m * s.n), T(-77));
  kernels::LOCKSTEP_TEST_PRODUCTS()(s, a.data(), b.data(), c.data());
  return c;
}

template <typename T, typename Check>
void for_all_shapes(double scale, Check check) {
  for (const std::int64_t m : {0, 1, 3, 4, 5, 64, 67}) {
    for (const std::int64_t n : {0, 1, 7, 8, 16, 17, 33}) {
      for (const std::int64_t k : {0, 1, 2, 13, 64}) {
        for (const Transpose ta : {Transpose::no, Transpose::yes}) {
          for (const Transpose tb : {Transpose::no, Transpose::yes}) {
            const kernels::Product shape = kernels::dense(m, n, k, ta, tb);
            CAPTURE(m, n, k, static_cast<int>(ta), static_cast<int>(tb));
            const auto a = numbers<T>(m * k, 1, scale);
            const auto b = numbers<T>(k * n, 2, scale);
            check(shape, a, b);
          }
        }
      }
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("matmul: small integers come out exactly, for every shape and transposition", "",
                   float, double) {
  for_all_shapes<TestType>(9, [](const auto& shape, const auto& a, const auto& b) {
    CHECK(product(shape, a, b) == product_by_definition(shape, a, b));
  });
}

TEMPLATE_TEST_CASE("matmul: the portable kernel has the bits of the three loops", "", float,
                   double) {
  if (kernels::LOCKSTEP_TEST_PRODUCTS().name != "portable" && std::is_same_v<TestType, float>)
    return;
  for_all_shapes<TestType>(1, [](const auto& shape, const auto& a, const auto& b) {
    CHECK(product(shape, a, b) == product_by_definition(shape, a, b));
  });
}

TEMPLATE_TEST_CASE("matmul: fractions agree with the definition to k roundings", "", float,
                   double) {
  for_all_shapes<TestType>(1, [](const auto& shape, const auto& a, const auto& b) {
    const auto got = product(shape, a, b), want = product_by_definition(shape, a, b);
    // |a|, |b| <= 1: two orders of summing k products differ by at most about k² ulp of one.
    const double bound = static_cast<double>((shape.k + 1) * (shape.k + 1)) *
                         static_cast<double>(std::numeric_limits<TestType>::epsilon());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (std::abs(got[i] - want[i]) > bound)
        FAIL("element " << i << ": " << got[i] << " for " << want[i]);
    }
  });
}

TEMPLATE_TEST_CASE("matmul: the same inputs give the same bits", "", float, double) {
  const auto shape = kernels::dense(67, 129, 301, Transpose::no, Transpose::yes);
  const auto a = numbers<TestType>(67 * 301, 3, 1);
  const auto b = numbers<TestType>(301 * 129, 4, 1);
  CHECK(product(shape, a, b) == product(shape, a, b));
}

TEMPLATE_TEST_CASE("matmul: rows longer than what is used, and adding to what is there", "", float,
                   double) {
  using T = TestType;
  for (const Transpose ta : {Transpose::no, Transpose::yes}) {
    for (const Transpose tb : {Transpose::no, Transpose::yes}) {
      const std::int64_t m = 5, n = 19, k = 7, row = 23;
      const auto shape = kernels::dense(m, n, k, ta, tb);
      const auto wide_a = numbers<T>(row * row, 5, 9), wide_b = numbers<T>(row * row, 6, 9);
      auto cut = [&](const std::vector<T>& wide, std::int64_t rows, std::int64_t columns) {
        std::vector<T> part;
        for (std::int64_t i = 0; i < rows * columns; ++i) {
          part.push_back(wide[static_cast<std::size_t>(i / columns * row + i % columns)]);
        }
        return part;
      };
      const bool turned_a = ta == Transpose::yes, turned_b = tb == Transpose::yes;
      const auto a = cut(wide_a, turned_a ? k : m, turned_a ? m : k);
      const auto b = cut(wide_b, turned_b ? n : k, turned_b ? k : n);
      const auto want = product_by_definition(shape, a, b);

      std::vector<T> c(static_cast<std::size_t>(m * row), T(3));
      kernels::Product apart = shape;
      apart.row_a = apart.row_b = apart.row_c = row;
      apart.into = kernels::Into::add;
      kernels::LOCKSTEP_TEST_PRODUCTS()(apart, wide_a.data(), wide_b.data(), c.data());
      for (std::int64_t i = 0; i < m * row; ++i) {
        const std::int64_t column = i % row;
        const T added = column < n ? want[static_cast<std::size_t>(i / row * n + column)] : T(0);
        CAPTURE(i, static_cast<int>(ta), static_cast<int>(tb));
        CHECK(c[static_cast<std::size_t>(i)] == T(3) + added);
      }
    }
  }
}
