#include "engine/tensor/device.hpp"

#include <algorithm>
#include <cmath>

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
  LOCKSTEP_CHECK(flops >= 0 && bytes >= 0 && std::isfinite(flops + bytes), "charge: ", flops,
                 " FLOPs and ", bytes,
                 " bytes; what was done costs 0 or more, and a finite number");
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

void Device::settle() {
  {
    const std::scoped_lock lock(mutex_);
    ++host_reads_;
  }
  finish();
}

std::int64_t Device::host_reads() const {
  const std::scoped_lock lock(mutex_);
  return host_reads_;
}

}  // namespace lockstep
