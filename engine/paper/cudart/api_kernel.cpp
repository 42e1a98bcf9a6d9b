// Launches by the host's own calls, and what can be asked of a kernel.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "engine/paper/cudart/call.hpp"
#include "engine/paper/cudart/launch.hpp"

using namespace lockstep::paper;

namespace {

// Blocks that fit on a processor, by threads, blocks and shared memory. Registers are ptxas's
// choice, which PTX does not say: they are taken not to limit it.
int resident_blocks(const CUkern_st& kernel, int threads, std::size_t dynamic_shared) {
  constexpr std::size_t threads_max = 2048, blocks_max = 32, reserved = 1024;
  const std::size_t warps = (static_cast<std::size_t>(threads) + 31) / 32;
  const std::size_t shared = kernel.kernel()->static_shared + dynamic_shared + reserved;
  return static_cast<int>(
      std::min({blocks_max, threads_max / (warps * 32), shared_bytes_processor / shared}));
}

}  // namespace

extern "C" {

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared, cudaStream_t stream) {
  return call("cudaLaunchKernel", [&](Runtime& state) {
    return launch(state, &runnable(state, function), {grid, block, shared, stream}, arguments);
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return call("cudaFuncSetAttribute", [&](Runtime& state) {
    CUkern_st& kernel = runnable(state, function);
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;  // a hint
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaErrorInvalidValue;
    const std::size_t room = shared_bytes_optin - kernel.kernel()->static_shared;
    if (value < 0 || static_cast<std::size_t>(value) > room) {
      state.refuse(cudaErrorInvalidValue, Kind::limit,
                   std::to_string(value) + " bytes of dynamic shared memory for " +
                       kernel.short_name + "; a block has " + std::to_string(room) +
                       " beside the kernel's own");
    }
    kernel.dynamic_shared_max = static_cast<std::size_t>(value);
    return cudaSuccess;
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return call("cudaFuncGetAttributes", [&](Runtime& state) {
    const CUkern_st& kernel = runnable(state, function);
    *attributes = {};
    attributes->sharedSizeBytes = kernel.kernel()->static_shared;
    attributes->localSizeBytes = kernel.kernel()->local_bytes;
    attributes->maxThreadsPerBlock = static_cast<int>(kernel.kernel()->threads_max);
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(kernel.dynamic_shared_max);
    attributes->ptxVersion = attributes->binaryVersion = 80;
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                   const void* function,
                                                                   int threads, std::size_t shared,
                                                                   unsigned) {
  return call("cudaOccupancyMaxActiveBlocksPerMultiprocessor", [&](Runtime& state) {
    const CUkern_st& kernel = runnable(state, function);
    if (threads < 1) return cudaErrorInvalidValue;
    *blocks = resident_blocks(kernel, threads, shared);
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int threads, std::size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared,
                                                                0);
}

}  // extern "C"
