// The matrix product, the one kernel worth a library. Exactly one of portable_kernels.cpp and
// onednn_kernels.cpp defines these symbols in an executable: players link the portable one.
#pragma once

#include <cstdint>
#include <string_view>

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
void matmul(const Product& product, const float* a, const float* b, float* c);
void matmul(const Product& product, const double* a, const double* b, double* c);

// Matrices whose rows lie end to end.
inline Product dense(std::int64_t m, std::int64_t n, std::int64_t k, ops::Transpose transpose_a,
                     ops::Transpose transpose_b) {
  const bool turned_a = transpose_a == ops::Transpose::yes;
  const bool turned_b = transpose_b == ops::Transpose::yes;
  return {m, n, k, transpose_a, transpose_b, turned_a ? m : k, turned_b ? k : n, n};
}

std::string_view provider();  // "portable" or "oneDNN 2.6.3"

}  // namespace lockstep::kernels
