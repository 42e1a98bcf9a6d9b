// The functions of cuBLAS that an engine trains with. What is not here is an error of the linker.
#include <cublas_v2.h>

#include <map>
#include <memory>
#include <mutex>

#include "engine/paper/cublas/handle.hpp"

namespace lockstep::paper {
namespace {

// Handles stay known after they are destroyed, so that using one again is told as that.
struct Handles {
  std::mutex mutex;  // guards the map
  std::map<cublasHandle_t, std::unique_ptr<cublasContext>> known;
};

Handles& handles() {
  static Handles& only = *new Handles();  // destructors of other libraries may still use it
  return only;
}

std::uint64_t number_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// Runs body(handle), or says what is wrong with the handle.
template <typename Body>
cublasStatus_t with(cublasHandle_t handle, const char* function, Body body) {
  cublasContext* const found = checked(handle, function);
  if (found == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  body(*found);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasContext* checked(cublasHandle_t handle, const char* function) {
  const std::scoped_lock lock(handles().mutex);
  const auto found = handles().known.find(handle);
  if (found != handles().known.end() && !found->second->destroyed) return found->second.get();
  const bool destroyed = found != handles().known.end();
  paperBadCall((std::string(function) + (destroyed ? ": the handle has been destroyed"
                                                   : ": the handle was not made by cublasCreate"))
                   .c_str());
  return nullptr;
}

}  // namespace lockstep::paper

using namespace lockstep::paper;

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  const std::scoped_lock lock(handles().mutex);
  auto made = std::make_unique<cublasContext>();
  *handle = made.get();
  handles().known[*handle] = std::move(made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  return with(handle, "cublasDestroy", [](cublasContext& is) { is.destroyed = true; });
}

// Takes the program's workspace away, as cuBLAS says.
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return with(handle, "cublasSetStream", [&](cublasContext& is) {
    is.stream = stream;
    is.workspace = nullptr;
  });
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  return with(handle, "cublasGetStream", [&](cublasContext& is) { *stream = is.stream; });
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return with(handle, "cublasSetMathMode", [&](cublasContext& is) { is.math = mode; });
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return with(handle, "cublasGetMathMode", [&](cublasContext& is) { *mode = is.math; });
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  return with(handle, "cublasSetPointerMode", [&](cublasContext& is) { is.pointer_mode = mode; });
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return with(handle, "cublasGetPointerMode", [&](cublasContext& is) { *mode = is.pointer_mode; });
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, std::size_t bytes) {
  return with(handle, "cublasSetWorkspace", [&](cublasContext& is) {
    is.workspace = bytes == 0 ? nullptr : workspace;
    is.workspace_bytes = bytes;
  });
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "unrecognized status";
}

const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "the function requires an architectural feature absent from the device";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "an access to GPU memory space failed";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the function failed to launch on the GPU";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "an internal operation failed";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the requested functionality is not supported";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "the license check failed";
  }
  return "unrecognized status";
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,
                              int m, int n, int k, const float* alpha, const float* a, int lda,
                              const float* b, int ldb, const float* beta, float* c, int ldc) {
  constexpr auto type = CUDA_R_32F;
  return submit(handle, {"cublasSgemm",
                         ta,
                         tb,
                         m,
                         n,
                         k,
                         1,
                         alpha,
                         beta,
                         {number_of(a), type, lda},
                         {number_of(b), type, ldb},
                         {number_of(c), type, ldc},
                         CUBLAS_COMPUTE_32F});
}

cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,
                              int m, int n, int k, const double* alpha, const double* a, int lda,
                              const double* b, int ldb, const double* beta, double* c, int ldc) {
  constexpr auto type = CUDA_R_64F;
  return submit(handle, {"cublasDgemm",
                         ta,
                         tb,
                         m,
                         n,
                         k,
                         1,
                         alpha,
                         beta,
                         {number_of(a), type, lda},
                         {number_of(b), type, ldb},
                         {number_of(c), type, ldc},
                         CUBLAS_COMPUTE_64F});
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,
                            int m, int n, int k, const void* alpha, const void* a,
                            cudaDataType a_type, int lda, const void* b, cudaDataType b_type,
                            int ldb, const void* beta, void* c, cudaDataType c_type, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t) {
  return submit(handle, {"cublasGemmEx",
                         ta,
                         tb,
                         m,
                         n,
                         k,
                         1,
                         alpha,
                         beta,
                         {number_of(a), a_type, lda},
                         {number_of(b), b_type, ldb},
                         {number_of(c), c_type, ldc},
                         compute});
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t ta,
                                         cublasOperation_t tb, int m, int n, int k,
                                         const float* alpha, const float* a, int lda,
                                         long long stride_a, const float* b, int ldb,
                                         long long stride_b, const float* beta, float* c, int ldc,
                                         long long stride_c, int batch) {
  constexpr auto type = CUDA_R_32F;
  return submit(handle, {"cublasSgemmStridedBatched",
                         ta,
                         tb,
                         m,
                         n,
                         k,
                         batch,
                         alpha,
                         beta,
                         {number_of(a), type, lda, stride_a},
                         {number_of(b), type, ldb, stride_b},
                         {number_of(c), type, ldc, stride_c},
                         CUBLAS_COMPUTE_32F});
}

cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t ta,
                                         cublasOperation_t tb, int m, int n, int k,
                                         const double* alpha, const double* a, int lda,
                                         long long stride_a, const double* b, int ldb,
                                         long long stride_b, const double* beta, double* c, int ldc,
                                         long long stride_c, int batch) {
  constexpr auto type = CUDA_R_64F;
  return submit(handle, {"cublasDgemmStridedBatched",
                         ta,
                         tb,
                         m,
                         n,
                         k,
                         batch,
                         alpha,
                         beta,
                         {number_of(a), type, lda, stride_a},
                         {number_of(b), type, ldb, stride_b},
                         {number_of(c), type, ldc, stride_c},
                         CUBLAS_COMPUTE_64F});
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t ta,
                                          cublasOperation_t tb, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType a_type,
                                          int lda, long long stride_a, const void* b,
                                          cudaDataType b_type, int ldb, long long stride_b,
                                          const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long stride_c, int batch,
                                          cublasComputeType_t compute, cublasGemmAlgo_t) {
  return submit(handle, {"cublasGemmStridedBatchedEx",
                         ta,
                         tb,
                         m,
                         n,
                         k,
                         batch,
                         alpha,
                         beta,
                         {number_of(a), a_type, lda, stride_a},
                         {number_of(b), b_type, ldb, stride_b},
                         {number_of(c), c_type, ldc, stride_c},
                         compute});
}

}  // extern "C"
