// gpu-explain where the build found no CUDA: there is no kernel to explain, and it says why.
#include "engine/apps/program.hpp"
#include "engine/base/text.hpp"

int main() {
  return lockstep::apps::run_program("lab gpu explain", []() -> int {
    throw lockstep::apps::Lacking(
        lockstep::text("this build has no GPU kernels: CUDA is ", LOCKSTEP_CUDA_STATE));
  });
}
