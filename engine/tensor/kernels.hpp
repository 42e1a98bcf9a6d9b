// The matrix product, the one kernel worth a library. Exactly one of portable_kernels.cpp and
// onednn_kernels.cpp defines these symbols in an executable: players link the portable one.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/tensor/ops.hpp"

namespace lockstep::kernels {

// Row-major c [M, N] = op(a) · op(b). lda, ldb are the row lengths of a and b as stored.
struct MatmulShape {
  std::int64_t m, n, k;
  ops::Transpose transpose_a, transpose_b;
};
void matmul(const MatmulShape& shape, const float* a, const float* b, float* c);
void matmul(const MatmulShape& shape, const double* a, const double* b, double* c);

std::string_view provider();  // "portable" or "oneDNN 2.6.3"

}  // namespace lockstep::kernels
