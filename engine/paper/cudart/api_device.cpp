// Devices, their properties, and errors.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "engine/paper/cudart/call.hpp"
#include "engine/paper/cudart/launch.hpp"

using namespace lockstep::paper;

namespace {

// An A100's limits, with as much memory as the settings say. Texture and surface limits are 0.
cudaDeviceProp properties_of(int number, const Settings& settings) {
  cudaDeviceProp is{};
  std::snprintf(is.name, sizeof is.name, "paper (modelled on A100)");
  is.totalGlobalMem = settings.memory_bytes;
  is.sharedMemPerBlock = shared_bytes_usual;
  is.sharedMemPerBlockOptin = shared_bytes_optin;
  is.sharedMemPerMultiprocessor = shared_bytes_processor;
  is.reservedSharedMemPerBlock = 1024;
  is.regsPerBlock = is.regsPerMultiprocessor = 65536;
  is.warpSize = 32;
  is.memPitch = 2147483647;
  is.maxThreadsPerBlock = 1024;
  is.maxThreadsDim[0] = is.maxThreadsDim[1] = 1024;
  is.maxThreadsDim[2] = 64;
  is.maxGridSize[0] = 2147483647;
  is.maxGridSize[1] = is.maxGridSize[2] = 65535;
  is.totalConstMem = 65536;
  is.major = settings.capability / 10;
  is.minor = settings.capability % 10;
  is.multiProcessorCount = 108;
  is.maxThreadsPerMultiProcessor = 2048;
  is.maxBlocksPerMultiProcessor = 32;
  is.concurrentKernels = 1;
  is.pciBusID = number + 1;
  is.asyncEngineCount = 3;
  is.unifiedAddressing = 1;
  is.memoryBusWidth = 5120;
  is.l2CacheSize = 40 << 20;
  is.streamPrioritiesSupported = 1;
  is.globalL1CacheSupported = is.localL1CacheSupported = 1;
  return is;
}

void check_device(Runtime& state, int number) {
  if (number < 0 || number >= state.settings().devices) throw Failed{cudaErrorInvalidDevice};
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return call(
      "cudaGetDeviceCount",
      [&](Runtime& state) {
        *count = state.settings().devices;
        return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
      },
      Needs::nothing);
}

cudaError_t cudaSetDevice(int number) {
  return call(
      "cudaSetDevice",
      [&](Runtime& state) {
        check_device(state, number);
        state.thread().device = number;
        return state.device(number).failure;
      },
      Needs::nothing);
}

cudaError_t cudaGetDevice(int* number) {
  return call(
      "cudaGetDevice",
      [&](Runtime& state) {
        *number = state.thread().device;
        return cudaSuccess;
      },
      Needs::nothing);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int number) {
  return call(
      "cudaGetDeviceProperties",
      [&](Runtime& state) {
        check_device(state, number);
        *properties = properties_of(number, state.settings());
        return cudaSuccess;
      },
      Needs::nothing);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int number) {
  return call(
      "cudaDeviceGetAttribute",
      [&](Runtime& state) {
        check_device(state, number);
        const cudaDeviceProp is = properties_of(number, state.settings());
        const std::pair<cudaDeviceAttr, std::size_t> known[] = {
            {cudaDevAttrMaxThreadsPerBlock, is.maxThreadsPerBlock},
            {cudaDevAttrMaxBlockDimX, is.maxThreadsDim[0]},
            {cudaDevAttrMaxBlockDimY, is.maxThreadsDim[1]},
            {cudaDevAttrMaxBlockDimZ, is.maxThreadsDim[2]},
            {cudaDevAttrMaxGridDimX, is.maxGridSize[0]},
            {cudaDevAttrMaxGridDimY, is.maxGridSize[1]},
            {cudaDevAttrMaxGridDimZ, is.maxGridSize[2]},
            {cudaDevAttrMaxSharedMemoryPerBlock, is.sharedMemPerBlock},
            {cudaDevAttrMaxSharedMemoryPerBlockOptin, is.sharedMemPerBlockOptin},
            {cudaDevAttrMaxSharedMemoryPerMultiprocessor, is.sharedMemPerMultiprocessor},
            {cudaDevAttrTotalConstantMemory, is.totalConstMem},
            {cudaDevAttrWarpSize, is.warpSize},
            {cudaDevAttrMaxRegistersPerBlock, is.regsPerBlock},
            {cudaDevAttrMultiProcessorCount, is.multiProcessorCount},
            {cudaDevAttrMaxThreadsPerMultiProcessor, is.maxThreadsPerMultiProcessor},
            {cudaDevAttrL2CacheSize, is.l2CacheSize},
            {cudaDevAttrUnifiedAddressing, is.unifiedAddressing},
            {cudaDevAttrConcurrentKernels, is.concurrentKernels},
            {cudaDevAttrAsyncEngineCount, is.asyncEngineCount},
            {cudaDevAttrComputeCapabilityMajor, is.major},
            {cudaDevAttrComputeCapabilityMinor, is.minor},
            {cudaDevAttrPciDomainId, is.pciDomainID},
            {cudaDevAttrPciBusId, is.pciBusID},
            {cudaDevAttrPciDeviceId, is.pciDeviceID},
            {cudaDevAttrMemoryPoolsSupported, 0},
            {cudaDevAttrManagedMemory, 0},
            {cudaDevAttrCooperativeLaunch, 0}};
        const auto* found =
            std::ranges::find(known, attribute, &std::pair<cudaDeviceAttr, std::size_t>::first);
        if (found == std::end(known)) {
          state.refuse(cudaErrorInvalidValue, Kind::refused,
                       "attribute " + std::to_string(static_cast<int>(attribute)) +
                           " is not modelled; see engine/paper/cudart/api_device.cpp");
        }
        *value = static_cast<int>(found->second);
        return cudaSuccess;
      },
      Needs::nothing);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  return call("cudaDeviceSynchronize", [&](Runtime& state) {
    GpuDevice& device = state.current();
    if (state.strikes(Runtime::Chance::wait)) return cudaSuccess;
    state.wait_for(state.everything_of(device));
    return device.failure;
  });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = cuda_version;
  return cudaSuccess;
}

// 0 where there is no driver.
cudaError_t cudaDriverGetVersion(int* version) {
  Runtime* const state = runtime();
  *version = state == nullptr ? cuda_version : state->settings().driver;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  Runtime* const state = runtime();
  if (state == nullptr) return cudaErrorInitializationError;
  const std::scoped_lock lock(state->mutex());
  return std::exchange(state->thread().last, state->sticky_error());
}

cudaError_t cudaPeekAtLastError() {
  Runtime* const state = runtime();
  if (state == nullptr) return cudaErrorInitializationError;
  const std::scoped_lock lock(state->mutex());
  return state->thread().last;
}

}  // extern "C"
