// The contents of a cuBLAS handle, and the product as cuBLAS's functions are given it.
#pragma once

#include <cublas_v2.h>

#include <string>

#include "engine/paper/cublas/product.hpp"

struct cublasContext {
  bool destroyed = false;
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  void* workspace = nullptr;  // the program's, if it gave one
  std::size_t workspace_bytes = 0;
};

namespace lockstep::paper {

// One matrix as the caller names it.
struct Given {
  std::uint64_t address = 0;
  cudaDataType type = CUDA_R_32F;
  std::int64_t leading = 0, stride = 0;
};

struct ProductCall {
  const char* function = "";
  cublasOperation_t turn_a = CUBLAS_OP_N, turn_b = CUBLAS_OP_N;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  const void* alpha = nullptr;
  const void* beta = nullptr;
  Given a, b, c;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};

// Checks what was asked for and puts it into the handle's stream.
cublasStatus_t submit(cublasHandle_t handle, const ProductCall& call);

// The handle, or nullptr with a finding: there is no such handle, or it was destroyed.
cublasContext* checked(cublasHandle_t handle, const char* function);

}  // namespace lockstep::paper
