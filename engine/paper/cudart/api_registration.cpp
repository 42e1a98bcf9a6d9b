// The hidden part of cudart: what the code that nvcc generates calls before main() and at each
// launch. NVIDIA documents it nowhere but in its header crt/host_runtime.h, whose declarations
// these are.
#include <cuda_runtime_api.h>

#include "engine/paper/cudart/call.hpp"
#include "engine/paper/cudart/launch.hpp"

using namespace lockstep::paper;

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(registry().add_binary(wrapper));
}

void __cudaRegisterFatBinaryEnd(void**) {}

// A library is closed, or the process ends. Its code stays: what is queued may still need it.
void __cudaUnregisterFatBinary(void**) {}

char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void** binary, const char* host, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  registry().add_kernel(reinterpret_cast<Binary*>(binary), host, name);
}

void __cudaRegisterVar(void** binary, char* host, char*, const char* name, int, std::size_t bytes,
                       int, int) {
  registry().add_variable(reinterpret_cast<Binary*>(binary), host, name, bytes);
}

// The first action of <<<…>>>; the stub of the kernel pops the configuration.
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared,
                                     cudaStream_t stream) {
  return call(
      "a launch",
      [&](Runtime& state) {
        state.thread().pushed.push_back({grid, block, shared, stream});
        return cudaSuccess;
      },
      Needs::nothing);
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  return call(
      "a launch",
      [&](Runtime& state) {
        auto& pushed = state.thread().pushed;
        if (pushed.empty()) return cudaErrorMissingConfiguration;
        *grid = pushed.back().grid;
        *block = pushed.back().block;
        *shared = pushed.back().shared;
        *static_cast<cudaStream_t*>(stream) = pushed.back().stream;
        pushed.pop_back();
        return cudaSuccess;
      },
      Needs::nothing);
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = registry().kernel(host);
  return *kernel == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared, cudaStream_t stream) {
  return call("a launch", [&](Runtime& state) {
    return launch(state, kernel, {grid, block, shared, stream}, arguments);
  });
}

}  // extern "C"
