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

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return CUDA_R_64F;
    case DType::bfloat16:
      return CUDA_R_16BF;
    case DType::float16:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
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

void batched_matmul(cublasHandle_t blas, const BatchSizes& sizes, const Matrices& a,
                    ops::Transpose transpose_a, const Matrices& b, ops::Transpose transpose_b,
                    const Matrices& c) {
  const float one = 1, zero = 0;
  const double one_64 = 1, zero_64 = 0;
  const bool doubles = c.dtype == DType::float64;
  const void* const alpha = doubles ? static_cast<const void*>(&one_64) : &one;
  const void* const beta = doubles ? static_cast<const void*>(&zero_64) : &zero;
  check(cublasGemmStridedBatchedEx(
            blas, operation_of(transpose_b), operation_of(transpose_a), size_of(sizes.n),
            size_of(sizes.m), size_of(sizes.k), alpha, b.first, type_of(b.dtype), size_of(b.step),
            b.apart, a.first, type_of(a.dtype), size_of(a.step), a.apart, beta, c.first,
            type_of(c.dtype), size_of(c.step), c.apart, size_of(sizes.batch),
            doubles ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmStridedBatchedEx");
}

}  // namespace lockstep::gpu::kernels
