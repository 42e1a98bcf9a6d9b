// For a build without CUDA: the same functions, and the sentence that says what is missing.
#include "engine/base/text.hpp"
#include "engine/gpu/open_gpu.hpp"
#include "engine/gpu/wires.hpp"

namespace lockstep::gpu {

namespace {

[[noreturn]] void refuse() {
  throw GpuError(text("this build has no GPU code: CUDA is ", LOCKSTEP_CUDA_STATE,
                      ". Leave out --device cuda to compute on the CPU"));
}

}  // namespace

std::unique_ptr<Device> open_gpu(const GpuOptions&) { refuse(); }

int count_gpus(const GpuOptions&) { refuse(); }

std::unique_ptr<Wires> open_wires(Device&) {
  throw GpuError(text("this build has no NCCL: CUDA is ", LOCKSTEP_CUDA_STATE));
}

bool on_paper() { return false; }

std::string paper_findings() { return {}; }

std::string paper_lines() { return {}; }

std::string paper_counters() { return {}; }

std::string paper_history() { return {}; }

}  // namespace lockstep::gpu
