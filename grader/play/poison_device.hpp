// A CPU device whose fresh memory is poisoned: every byte 0xFF, which is a NaN in every
// floating-point type and -1 in the signed integers. A part that reads what it never wrote shows it
// in its result.
#pragma once

#include <cstring>

#include "engine/tensor/device.hpp"

namespace lockstep::grader {

class PoisonDevice final : public Device {
 public:
  PoisonDevice() : Device(Numbers::on_host) {}

  std::string_view name() const override { return "poisoned cpu"; }
  const Kernels& kernels() const override { return memory_.kernels(); }
  std::byte* allocate(std::size_t bytes) override {
    std::byte* data = memory_.allocate(bytes);
    if (bytes > 0) std::memset(data, 0xFF, bytes);
    return data;
  }
  void release(std::byte* data, std::size_t bytes) noexcept override {
    memory_.release(data, bytes);
  }

 private:
  CpuDevice memory_;
};

}  // namespace lockstep::grader
