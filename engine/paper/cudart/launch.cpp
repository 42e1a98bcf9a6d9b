// Launches.
#include "engine/paper/cudart/launch.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace lockstep::paper {
namespace {

Dim3 dim(const dim3& of) { return {of.x, of.y, of.z}; }

// The arguments as the kernel's parameters lie.
std::vector<std::byte> packed(const ptx::Kernel& kernel, void** arguments) {
  std::vector<std::byte> bytes(kernel.parameter_bytes);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const ptx::Parameter& parameter = kernel.parameters[i];
    std::memcpy(bytes.data() + parameter.offset, arguments[i], parameter.bytes);
  }
  return bytes;
}

}  // namespace

cudaError_t error_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::done:
      return cudaSuccess;
    case Outcome::illegal_address:
      return cudaErrorIllegalAddress;
    case Outcome::misaligned_address:
      return cudaErrorMisalignedAddress;
    case Outcome::illegal_instruction:
      return cudaErrorLaunchFailure;
    case Outcome::timeout:
      return cudaErrorLaunchTimeout;
    case Outcome::invalid_configuration:
      return cudaErrorInvalidConfiguration;
    case Outcome::refused:
      return cudaErrorInvalidPtx;
  }
  return cudaErrorUnknown;
}

CUkern_st& runnable(Runtime& state, const void* host_or_handle) {
  CUkern_st* const found = registry().kernel(host_or_handle);
  if (found == nullptr) {
    state.refuse(cudaErrorInvalidDeviceFunction, Kind::bad_call,
                 "no kernel has this address; is it a __global__ function, and its library open?");
  }
  if (state.settings().capability < ptx_capability) throw Failed{cudaErrorNoKernelImageForDevice};
  if (found->kernel() != nullptr) return *found;
  const std::string& why = found->binary->refusal();
  if (!why.empty()) {
    state.refuse(cudaErrorNoKernelImageForDevice, Kind::refused, found->short_name + ": " + why);
  }
  state.refuse(cudaErrorInvalidDeviceFunction, Kind::refused,
               found->short_name + ": the PTX of its file has no kernel of that name");
}

cudaError_t launch(Runtime& state, CUkern_st* handle, const LaunchConfiguration& configuration,
                   void** arguments) {
  CUkern_st& kernel = runnable(state, handle);
  const std::string function = "launch of " + kernel.short_name;
  state.function = function.c_str();
  const Runtime::Queue queue = state.queue_of_launch(configuration.stream);
  if (queue.device.number != state.thread().device) {
    state.refuse(cudaErrorInvalidResourceHandle, Kind::bad_call,
                 state.timeline().name_of_track(queue.track) + " is of device " +
                     std::to_string(queue.device.number) + ", and device " +
                     std::to_string(state.thread().device) +
                     " is current; call cudaSetDevice before the launch");
  }
  if (state.strikes(Runtime::Chance::launch)) return cudaErrorLaunchOutOfResources;

  Launch asked;
  asked.kernel = kernel.kernel();
  asked.grid = dim(configuration.grid);
  if (const std::uint32_t most = state.settings().grid_max; most != 0) {
    asked.grid.x = std::min(asked.grid.x, most);
  }
  asked.block = dim(configuration.block);
  asked.dynamic_shared = configuration.shared;
  asked.dynamic_shared_max = kernel.dynamic_shared_max;
  asked.variables = state.variables_of(queue.device, *kernel.binary);
  std::vector<std::byte> parameters = packed(*asked.kernel, arguments);
  asked.parameters = parameters;
  const Outcome accepted = queue.device.machine.accept(asked);
  if (accepted != Outcome::done) return error_of(accepted);

  state.enqueue(queue, kernel.short_name,
                [&state, &device = queue.device, asked,
                 parameters = std::move(parameters)](Operation operation) mutable {
                  asked.operation = operation;
                  asked.parameters = parameters;
                  const Outcome outcome = device.machine.run(asked);
                  if (outcome != Outcome::done) state.fail(device, error_of(outcome));
                });
  return cudaSuccess;
}

}  // namespace lockstep::paper
