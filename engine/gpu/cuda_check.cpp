#include "engine/gpu/cuda_check.hpp"

#include "engine/base/text.hpp"
#include "engine/gpu/open_gpu.hpp"

// A function of engine/paper/cudart only.
extern "C" __attribute__((weak)) const char* paperFindings();

namespace lockstep::gpu {

// The object's own answer to the question of open_gpu.hpp: of the program it calls only base and
// tensor.
bool on_paper() { return paperFindings != nullptr; }

namespace {

// Paper tells which kernel it was when the program ends.
std::string which_kernel() { return on_paper() ? "" : "; run the same with --paper to see which"; }

std::string advice_for(cudaError_t error, std::string_view call) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      if (call == "cudaMallocHost") return "the host's memory that a GPU can read is spent";
      return "the GPU's memory is spent; make the batch or the model smaller";
    case cudaErrorIllegalAddress:
      return "a kernel reached memory that is not its own" + which_kernel();
    case cudaErrorIllegalInstruction:
      return "a kernel met an instruction that is not known here" + which_kernel();
    case cudaErrorInvalidPtx:
      return "a kernel holds an instruction that the driver, or paper, does not know";
    case cudaErrorLaunchTimeout:
      return "a kernel ran too long" + which_kernel();
    default:
      return on_paper() ? "a finding of paper's, or a fault that a PAPER_ variable asked for"
                        : "nvidia-smi says in what state the GPU is";
  }
}

// Says what is missing for a GPU. CUDA says only that there is none.
std::string missing_for(cudaError_t error) {
  int driver = 0;
  if (error == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess &&
      driver > 0) {
    return text("the NVIDIA driver of this machine knows CUDA up to ", driver / 1000, ".",
                driver % 1000 / 10, ", and CUDA 13.0 needs driver 580 or newer");
  }
  switch (error) {
    case cudaErrorInsufficientDriver:
      return "this machine has no NVIDIA driver";
    case cudaErrorNoDevice:
      return "CUDA finds none here (CUDA_VISIBLE_DEVICES may hide it)";
    case cudaErrorNoKernelImageForDevice:
      return "this one is older than compute capability 8.0, for which the kernels are built";
    default:
      return text("CUDA says ", cudaGetErrorName(error), " (", cudaGetErrorString(error), ")");
  }
}

}  // namespace

void throw_cuda(cudaError_t error, const char* call) {
  cudaGetLastError();  // it is told here, and the next launch must not be blamed for it
  throw GpuError(text("cuda: ", call, " failed with ", cudaGetErrorName(error), " (",
                      cudaGetErrorString(error), "): ", advice_for(error, call)));
}

void throw_no_gpu(cudaError_t error) {
  throw GpuError(text("--device cuda needs an NVIDIA GPU, but ", missing_for(error),
                      "; leave it out to compute on the CPU, or add --paper to execute the same "
                      "kernels without a GPU, slowly"));
}

void throw_cublas(cublasStatus_t status, const char* call) {
  throw GpuError(text("cuda: ", call, " failed with ", cublasGetStatusName(status), " (",
                      cublasGetStatusString(status), ")"));
}

}  // namespace lockstep::gpu
