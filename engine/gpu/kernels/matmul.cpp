// Products by cuBLAS, which counts along columns: what it sees of a row-major matrix is its
// transpose, and cᵀ = op(b)ᵀ·op(a)ᵀ, so that the operands change places and nothing is transposed.
#include <limits>

#include "engine/gpu/cuda_check.hpp"
#include "engine/gpu/kernels/table.hpp"

namespace lockstep::gpu::kernels {
namespace {

cublasOperation_t operation_of(ops::Transpose transpose) {
  return transpose == ops::Transpose::yes ? CUBLAS_OP_T : CUBLAS_OP_N;
}

int size_of(std::int64_t size) {
  LOCKSTEP_CHECK(size <= std::numeric_limits<int>::max(), "matmul: a matrix has ", size,
                 " rows or columns; cuBLAS counts to 2,147,483,647 here: multiply in parts");
  return static_cast<int>(size);
}

}  // namespace

void matmul(const Call& call, cublasHandle_t blas, const Tensor& a, ops::Transpose transpose_a,
            const Tensor& b, ops::Transpose transpose_b, const Tensor& c) {
  if (c.numel() == 0) return;
  const int m = size_of(c.size(0)), n = size_of(c.size(1)),
            k = size_of(a.size(transpose_a == ops::Transpose::yes ? 0 : 1));
  if (k == 0) return fill(call, 0, c);
  const int step_a = size_of(a.size(1)), step_b = size_of(b.size(1));
  const cublasOperation_t of_a = operation_of(transpose_a), of_b = operation_of(transpose_b);
  const float one = 1, zero = 0;
  if (c.dtype() == DType::float32) {
    check(cublasSgemm(blas, of_b, of_a, n, m, k, &one, reinterpret_cast<const float*>(b.address()),
                      step_b, reinterpret_cast<const float*>(a.address()), step_a, &zero,
                      reinterpret_cast<float*>(c.address()), n),
          "cublasSgemm");
  } else if (c.dtype() == DType::float64) {
    const double one_64 = 1, zero_64 = 0;
    check(cublasDgemm(blas, of_b, of_a, n, m, k, &one_64,
                      reinterpret_cast<const double*>(b.address()), step_b,
                      reinterpret_cast<const double*>(a.address()), step_a, &zero_64,
                      reinterpret_cast<double*>(c.address()), n),
          "cublasDgemm");
  } else {
    const cudaDataType_t type = c.dtype() == DType::bfloat16 ? CUDA_R_16BF : CUDA_R_16F;
    check(
        cublasGemmEx(blas, of_b, of_a, n, m, k, &one, b.address(), type, step_b, a.address(), type,
                     step_a, &zero, c.address(), type, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
  }
}

}  // namespace lockstep::gpu::kernels
