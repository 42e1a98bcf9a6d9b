// What the engine and paper use of cuBLAS 13, declared: the names, values and signatures of NVIDIA's
// header of this name, and nothing that is not used. A build whose toolkit has no cuBLAS takes this
// one, and an object that was built with it runs on NVIDIA's library too. tests/paper/declared
// compares the two where both are there.
#pragma once

#include <cuda_runtime_api.h>
#include <library_types.h>
#include <stddef.h>

#define CUBLAS_VERSION 130100

// Functions that changed once have a suffix in the library, and none in programs.
#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasGetVersion cublasGetVersion_v2
#define cublasSetWorkspace cublasSetWorkspace_v2
#define cublasSetStream cublasSetStream_v2
#define cublasGetStream cublasGetStream_v2
#define cublasGetPointerMode cublasGetPointerMode_v2
#define cublasSetPointerMode cublasSetPointerMode_v2
#define cublasSgemm cublasSgemm_v2
#define cublasDgemm cublasDgemm_v2

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16
};

enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };

enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };

enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 };

enum cublasMath_t {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
};

enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};

struct cublasContext;
using cublasHandle_t = cublasContext*;

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle);
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle);
cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int* version);
const char* cublasGetStatusName(cublasStatus_t status);
const char* cublasGetStatusString(cublasStatus_t status);
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes);
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream);
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode);
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);

// Column-major c [m, n] = alpha · op(a) [m, k] · op(b) [k, n] + beta · c.
cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t a_is, cublasOperation_t b_is,
                              int m, int n, int k, const float* alpha, const float* a, int row_a,
                              const float* b, int row_b, const float* beta, float* c, int row_c);
cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t a_is, cublasOperation_t b_is,
                              int m, int n, int k, const double* alpha, const double* a, int row_a,
                              const double* b, int row_b, const double* beta, double* c, int row_c);
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t a_is, cublasOperation_t b_is,
                            int m, int n, int k, const void* alpha, const void* a,
                            cudaDataType a_type, int row_a, const void* b, cudaDataType b_type,
                            int row_b, const void* beta, void* c, cudaDataType c_type, int row_c,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t a_is,
                                         cublasOperation_t b_is, int m, int n, int k,
                                         const float* alpha, const float* a, int row_a,
                                         long long stride_a, const float* b, int row_b,
                                         long long stride_b, const float* beta, float* c, int row_c,
                                         long long stride_c, int batch);
cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t a_is,
                                         cublasOperation_t b_is, int m, int n, int k,
                                         const double* alpha, const double* a, int row_a,
                                         long long stride_a, const double* b, int row_b,
                                         long long stride_b, const double* beta, double* c,
                                         int row_c, long long stride_c, int batch);
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t a_is,
                                          cublasOperation_t b_is, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType a_type,
                                          int row_a, long long stride_a, const void* b,
                                          cudaDataType b_type, int row_b, long long stride_b,
                                          const void* beta, void* c, cudaDataType c_type, int row_c,
                                          long long stride_c, int batch,
                                          cublasComputeType_t compute, cublasGemmAlgo_t algorithm);

}  // extern "C"
