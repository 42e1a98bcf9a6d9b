#include "engine/gpu/cuda_check.hpp"

#include "engine/base/text.hpp"
#include "engine/gpu/open_gpu.hpp"

namespace lockstep::gpu {
namespace {

// Both ways out, where there is no GPU to work on.
constexpr const char* without_gpu =
    "leave out --device cuda to train on the CPU, or add --paper to execute the same kernels "
    "without a GPU, slowly";

std::string advice_for(cudaError_t error) {
  switch (error) {
    case cudaErrorInsufficientDriver: {
      int driver = 0;
      if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0) {
        return text("the NVIDIA driver knows CUDA ", driver / 1000, ".", driver % 1000 / 10,
                    " and this program needs 13.0: install driver 580 or newer; until then, ",
                    without_gpu);
      }
      return text("no NVIDIA driver answers on this machine; ", without_gpu);
    }
    case cudaErrorNoDevice:
      return text("this machine has no GPU that CUDA may use; ", without_gpu);
    case cudaErrorInvalidDevice:
      return "there is no GPU of that number; nvidia-smi lists them";
    case cudaErrorNoKernelImageForDevice:
      return text(
          "the kernels are built for compute capability 8.0 and newer, and this GPU is "
          "older; ",
          without_gpu);
    case cudaErrorIllegalInstruction:
      return "a kernel has an instruction that is not known here";
    case cudaErrorMemoryAllocation:
      return "the GPU's memory is spent; make the batch or the model smaller";
    case cudaErrorIllegalAddress:
      return "a kernel reached memory that is not its own; run the same with --paper to see which";
    default:
      return "nvidia-smi says in what state the GPU is";
  }
}

}  // namespace

void throw_cuda(cudaError_t error, const char* call) {
  throw GpuError(text("cuda: ", call, " failed with ", cudaGetErrorName(error), " (",
                      cudaGetErrorString(error), "): ", advice_for(error)));
}

void throw_cublas(cublasStatus_t status, const char* call) {
  throw GpuError(text("cuda: ", call, " failed with ", cublasGetStatusName(status), " (",
                      cublasGetStatusString(status), ")"));
}

}  // namespace lockstep::gpu
