// The matrix product, the one kernel worth a library: a value, so that a program chooses who
// multiplies when it makes its device.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/tensor/cpu/isa.hpp"
#include "engine/tensor/matmul.hpp"

namespace lockstep::kernels {

enum class Into : std::uint8_t { replace, add };

// Row-major c [m, n] = (or +=) op(a) [m, k] · op(b) [k, n]. The row lengths are of the matrices as
// stored, and may be longer than what is used of a row: a head's columns in a packed projection.
struct Product {
  std::int64_t m, n, k;
  ops::Transpose transpose_a, transpose_b;
  std::int64_t row_a, row_b, row_c;
  Into into = Into::replace;
};

// Matrices whose rows lie end to end.
inline Product dense(std::int64_t m, std::int64_t n, std::int64_t k, ops::Transpose transpose_a,
                     ops::Transpose transpose_b) {
  const bool turned_a = transpose_a == ops::Transpose::yes;
  const bool turned_b = transpose_b == ops::Transpose::yes;
  return {m, n, k, transpose_a, transpose_b, turned_a ? m : k, turned_b ? k : n, n};
}

// The matrix products in either type, and the instructions that all kernels of the device keep to.
struct Products {
  std::string_view name;  // "portable" or "oneDNN 2.6.3"
  Isa isa;
  void (*in_float32)(const Product& product, const float* a, const float* b, float* c);
  void (*in_float64)(const Product& product, const double* a, const double* b, double* c);

  void operator()(const Product& product, const float* a, const float* b, float* c) const {
    in_float32(product, a, b, c);
  }
  void operator()(const Product& product, const double* a, const double* b, double* c) const {
    in_float64(product, a, b, c);
  }
};

// Without a library. Every element of c is one sum over k in order, each product rounded before it
// is added: the same bits on every processor, and a row of c depends on its row of op(a) only, not
// on how many rows there are.
Products portable_products(Isa isa = widest_isa());

// The fastest that this build has: oneDNN, where it was found. In the library lockstep_products,
// which programs that train link, and players do not. An isa that is narrower than the processor's
// holds for all of the process: oneDNN takes such a wish once, before its first product.
//   Throws  Error where oneDNN has multiplied before and was told otherwise
Products best_products(Isa isa = widest_isa());

}  // namespace lockstep::kernels
