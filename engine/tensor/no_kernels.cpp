#include "engine/tensor/no_kernels.hpp"

namespace lockstep {

const Kernels& no_kernels() {
  static const NoKernels none;
  return none;
}

}  // namespace lockstep
