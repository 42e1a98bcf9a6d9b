// The arguments of every kernel function besides its tensors: the stream to launch on, the box for
// faults, and memory for the time of the call.
#pragma once

#include <cuda_runtime_api.h>

#include "engine/gpu/fault_box.hpp"
#include "engine/gpu/scratch.hpp"
#include "engine/tensor/kernels.hpp"

namespace lockstep::gpu {

struct Call {
  cudaStream_t stream;
  FaultBox& faults;
  Scratch& scratch;
};

}  // namespace lockstep::gpu
