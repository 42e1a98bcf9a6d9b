// Copies and memsets, by the rules of the header cuda_runtime_api.h, "API synchronization
// behavior":
//
//   host memory  to the device, cudaMemcpy   cudaMemcpyAsync   from the device
//   pageable     waits for the stream, then  staged at once    both run before the call returns
//                staged; lands later
//   pinned       runs before it returns      asynchronous      cudaMemcpy waits, Async does not
//
// Device to device is asynchronous in both. Host to host waits for the stream, then runs. What
// NVIDIA leaves open ("might be synchronous") is taken so that no program breaks that CUDA allows,
// and none is blamed for it: a copy from pageable memory is never waited for, one to it always.
#pragma once

#include "engine/paper/cudart/runtime.hpp"

namespace lockstep::paper {

enum class Waiting { synchronous, asynchronous };

struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  cudaMemcpyKind kind = cudaMemcpyDefault;
};

cudaError_t copy(Runtime& state, const Copy& what, cudaStream_t stream, Waiting waiting);
cudaError_t set(Runtime& state, void* to, int value, std::size_t bytes, cudaStream_t stream);

}  // namespace lockstep::paper
