#include "engine/tensor/device.hpp"

#include <algorithm>
#include <cstdint>
#include <new>

#include "engine/base/error.hpp"

namespace lockstep {
namespace {

// One cache line, and the widest vector register.
constexpr std::align_val_t alignment{64};

}  // namespace

std::string_view name_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::parameters:
      return "parameters";
    case MemoryKind::gradients:
      return "gradients";
    case MemoryKind::optimizer_state:
      return "optimizer state";
    case MemoryKind::activations:
      return "activations";
    case MemoryKind::buffers:
      break;
  }
  return "buffers";
}

void Device::charge(double flops, double bytes) {
  flops_ += flops;
  bytes_moved_ += bytes;
}

void Device::account(MemoryKind kind, std::int64_t bytes_delta) {
  const auto i = static_cast<std::size_t>(kind);
  now_[i] += bytes_delta;
  peak_[i] = std::max(peak_[i], now_[i]);
}

std::byte* CpuDevice::allocate(std::size_t bytes) {
  // No object is larger than a pointer difference can say; some allocators abort when asked.
  const bool possible = bytes <= static_cast<std::size_t>(PTRDIFF_MAX);
  void* data = possible ? ::operator new(bytes, alignment, std::nothrow) : nullptr;
  if (data == nullptr) {
    throw Error(text("cpu: ", bytes, " bytes asked for a tensor, but the host's memory is spent; ",
                     "make the model or the batch smaller"));
  }
  return static_cast<std::byte*>(data);
}

void CpuDevice::release(std::byte* data, std::size_t bytes) noexcept {
  ::operator delete(data, bytes, alignment);
}

}  // namespace lockstep
