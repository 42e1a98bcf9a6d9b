// Every call of CUDA and cuBLAS is checked: check(cudaMalloc(…), "cudaMalloc"). A code becomes a
// GpuError of one sentence: what was asked, what CUDA says, and what to do where that is known.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <string>

namespace lockstep::gpu {

// True if paper stands in for NVIDIA's libraries: by --paper, or because LD_LIBRARY_PATH names its
// folder.
bool on_paper();

[[noreturn]] void throw_cuda(cudaError_t error, const char* call);
[[noreturn]] void throw_no_gpu(cudaError_t error);  // of the first call: what is missing
[[noreturn]] void throw_cublas(cublasStatus_t status, const char* call);

inline void check(cudaError_t error, const char* call) {
  if (error != cudaSuccess) throw_cuda(error, call);
}
inline void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) throw_cublas(status, call);
}

// After `kernel<<<…>>>(…)`: whether CUDA took it.
inline void check_launch(const char* kernel) {
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) throw_cuda(error, kernel);
}

}  // namespace lockstep::gpu
