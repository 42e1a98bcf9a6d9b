// Where the build found no CUDA: the same functions, and the sentence that says what is missing.
#include "engine/base/text.hpp"
#include "engine/gpu/open_gpu.hpp"

namespace lockstep::gpu {

std::unique_ptr<Device> open_gpu(const GpuOptions&) {
  throw GpuError(text("this build has no GPU code: CUDA is ", LOCKSTEP_CUDA_STATE,
                      ". Leave out --device cuda to train on the CPU"));
}

std::string paper_findings() { return {}; }

std::string paper_lines() { return {}; }

std::string paper_counters() { return {}; }

}  // namespace lockstep::gpu
