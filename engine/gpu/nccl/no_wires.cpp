// Where the toolkit has no NCCL: the same symbol, and the sentence that says so.
#include "engine/gpu/open_gpu.hpp"
#include "engine/gpu/wires.hpp"

extern "C" lockstep::gpu::Wires* lockstep_open_wires(lockstep::Device&) {
  throw lockstep::gpu::GpuError(
      "this build has no NCCL, so ranks on GPUs cannot talk: the CUDA toolkit that was found has "
      "no "
      "nccl.h or no libnccl.so.2; install NVIDIA's libnccl-dev there and configure anew, or train "
      "with one rank");
}
