#include "engine/tensor/device.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace lockstep {

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
  const std::scoped_lock lock(mutex_);
  flops_ += flops;
  bytes_moved_ += bytes;
}

double Device::flops() const {
  const std::scoped_lock lock(mutex_);
  return flops_;
}

double Device::bytes_moved() const {
  const std::scoped_lock lock(mutex_);
  return bytes_moved_;
}

void Device::account(MemoryKind kind, std::int64_t bytes_delta) {
  const auto i = static_cast<std::size_t>(kind);
  const std::scoped_lock lock(mutex_);
  now_[i] += bytes_delta;
  peak_[i] = std::max(peak_[i], now_[i]);
  total_now_ += bytes_delta;
  total_peak_ = std::max(total_peak_, total_now_);
}

std::int64_t Device::bytes_now(MemoryKind kind) const {
  const std::scoped_lock lock(mutex_);
  return now_[static_cast<std::size_t>(kind)];
}

std::int64_t Device::bytes_peak(MemoryKind kind) const {
  const std::scoped_lock lock(mutex_);
  return peak_[static_cast<std::size_t>(kind)];
}

std::int64_t Device::bytes_now() const {
  const std::scoped_lock lock(mutex_);
  return total_now_;
}

std::int64_t Device::bytes_peak() const {
  const std::scoped_lock lock(mutex_);
  return total_peak_;
}

void Device::reset_peak() {
  const std::scoped_lock lock(mutex_);
  peak_ = now_;
  total_peak_ = total_now_;
}

std::byte* CpuDevice::allocate(std::size_t bytes) {
  std::byte* data = blocks_.take(bytes);
  if (data == nullptr) {
    throw Error(text("cpu: ", bytes, " bytes asked for a tensor, but the host's memory is spent; ",
                     "make the model or the batch smaller"));
  }
  return data;
}

void CpuDevice::release(std::byte* data, std::size_t bytes) noexcept { blocks_.give(data, bytes); }

}  // namespace lockstep
