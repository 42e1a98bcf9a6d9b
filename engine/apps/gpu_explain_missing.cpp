// gpu-explain where the build found no CUDA: there is no kernel to explain, and it says why.
#include <iostream>

#include "engine/apps/program.hpp"
#include "engine/gpu/open_gpu.hpp"

int main() {
  return lockstep::apps::run_program("lab gpu explain", []() -> int {
    try {
      lockstep::gpu::open_gpu({});
    } catch (const lockstep::gpu::GpuError& error) {
      throw lockstep::apps::Lacking(error.what());
    }
    return 0;
  });
}
