// Allocation, copies and memsets.
#include <cuda_runtime_api.h>

#include "engine/paper/cudart/call.hpp"
#include "engine/paper/cudart/copy.hpp"

using namespace lockstep::paper;

namespace {

cudaError_t allocate_pinned(const char* function, void** pointer, std::size_t bytes) {
  return call(function, [&](Runtime& state) {
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (state.strikes(Runtime::Chance::allocation)) return cudaErrorMemoryAllocation;
    *pointer = state.pinned().allocate(bytes);
    return *pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
  });
}

// The address of a registered variable on the current device. Checks that `count` bytes from
// `offset` lie in it.
std::byte* symbol_address(Runtime& state, const void* symbol, std::size_t offset,
                          std::size_t count) {
  const RegisteredVariable* const variable = registry().variable(symbol);
  if (variable == nullptr) {
    state.refuse(cudaErrorInvalidSymbol, Kind::bad_call,
                 "the symbol is no __device__ or __constant__ variable of this program");
  }
  if (offset > variable->bytes || count > variable->bytes - offset) {
    state.refuse(cudaErrorInvalidValue, Kind::out_of_bounds,
                 std::to_string(count) + " bytes at offset " + std::to_string(offset) + " of " +
                     variable->name + ", which has " + std::to_string(variable->bytes));
  }
  const auto& known = variable->binary->module().variables;
  const auto& addresses = state.variables_of(state.current(), *variable->binary);
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (known[i].name == variable->name) {
      return reinterpret_cast<std::byte*>(addresses[i]) + offset;
    }
  }
  state.refuse(cudaErrorInvalidSymbol, Kind::refused,
               "the PTX has no variable " + variable->name + "; " + variable->binary->refusal());
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return call("cudaMalloc", [&](Runtime& state) {
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (state.strikes(Runtime::Chance::allocation)) return cudaErrorMemoryAllocation;
    *pointer = reinterpret_cast<void*>(state.current().memory.allocate(bytes));
    return *pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
  });
}

cudaError_t cudaFree(void* pointer) {
  return call("cudaFree", [&](Runtime& state) {
    if (pointer == nullptr) return cudaSuccess;
    GpuDevice* const device = state.device_of(pointer);
    if (device == nullptr) {
      state.refuse(cudaErrorInvalidValue, Kind::bad_call,
                   state.pinned().contains(pointer)
                       ? "the address is pinned host memory; free it with cudaFreeHost"
                       : "the address is not of the device; was it made by cudaMalloc?");
    }
    state.wait_for(state.everything_of(*device));
    if (device->failure != cudaSuccess) return device->failure;
    const Operation by = state.timeline().begin_on_host("cudaFree");
    const bool freed = device->memory.release(reinterpret_cast<std::uint64_t>(pointer), by);
    return freed ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return allocate_pinned("cudaMallocHost", pointer, bytes);
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return allocate_pinned("cudaHostAlloc", pointer, bytes);
}

cudaError_t cudaFreeHost(void* pointer) {
  return call("cudaFreeHost", [&](Runtime& state) {
    if (pointer == nullptr) return cudaSuccess;
    if (const auto user = state.pinned().user_of(pointer)) {
      state.findings().add(
          Kind::use_after_free, Where{},
          "cudaFreeHost: " + state.timeline().describe(*user) +
              " uses the memory, and nobody has waited for it; wait first, as CUDA "
              "does not promise that cudaFreeHost does");
      state.wait_for(state.everything_of(state.current()));
    }
    if (!state.pinned().release(pointer)) {
      state.refuse(cudaErrorInvalidValue, Kind::bad_call,
                   "no pinned host memory begins at the address; is it freed twice?");
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(std::size_t* left, std::size_t* total) {
  return call("cudaMemGetInfo", [&](Runtime& state) {
    const Memory& memory = state.current().memory;
    *left = memory.capacity() - memory.used();
    *total = memory.capacity();
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return call("cudaPointerGetAttributes", [&](Runtime& state) {
    *attributes = {};
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    if (const GpuDevice* device = state.device_of(pointer)) {
      attributes->type = cudaMemoryTypeDevice;
      attributes->device = device->number;
      attributes->devicePointer = const_cast<void*>(pointer);
    } else if (state.pinned().contains(pointer)) {
      attributes->type = cudaMemoryTypeHost;
      attributes->device = state.thread().device;
      attributes->hostPointer = const_cast<void*>(pointer);
    } else {
      attributes->hostPointer = const_cast<void*>(pointer);
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return call("cudaMemcpy", [&](Runtime& state) {
    return copy(state, {to, from, bytes, kind}, nullptr, Waiting::synchronous);
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return call("cudaMemcpyAsync", [&](Runtime& state) {
    return copy(state, {to, from, bytes, kind}, stream, Waiting::asynchronous);
  });
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return call("cudaMemset", [&](Runtime& state) { return set(state, to, value, bytes, nullptr); });
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return call("cudaMemsetAsync",
              [&](Runtime& state) { return set(state, to, value, bytes, stream); });
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return call("cudaGetSymbolAddress", [&](Runtime& state) {
    *address = symbol_address(state, symbol, 0, 0);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t count,
                               std::size_t offset, cudaMemcpyKind kind) {
  return call("cudaMemcpyToSymbol", [&](Runtime& state) {
    std::byte* to = symbol_address(state, symbol, offset, count);
    return copy(state, {to, from, count, kind}, nullptr, Waiting::synchronous);
  });
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t count,
                                 std::size_t offset, cudaMemcpyKind kind) {
  return call("cudaMemcpyFromSymbol", [&](Runtime& state) {
    const std::byte* from = symbol_address(state, symbol, offset, count);
    return copy(state, {to, from, count, kind}, nullptr, Waiting::synchronous);
  });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t count,
                                    std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpyToSymbolAsync", [&](Runtime& state) {
    std::byte* to = symbol_address(state, symbol, offset, count);
    return copy(state, {to, from, count, kind}, stream, Waiting::asynchronous);
  });
}

}  // extern "C"
