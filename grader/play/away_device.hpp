// A device whose tensors the host must not read, like those of a GPU: asking for their elements is
// refused, and to_host() makes a copy. Its memory is a host device's. It copies, and computes
// nothing.
#pragma once

#include <cstring>

#include "engine/tensor/no_kernels.hpp"
#include "engine/tensor/tensor.hpp"

namespace lockstep::grader {

class AwayDevice final : public Device {
 public:
  explicit AwayDevice(Device& host) : Device(Numbers::away), host_(host) {}

  std::string_view name() const override { return "away"; }
  const Kernels& kernels() const override { return moves_; }
  Device& host() override { return host_; }
  std::byte* allocate(std::size_t bytes) override { return host_.allocate(bytes); }
  void release(std::byte* data, std::size_t bytes) noexcept override { host_.release(data, bytes); }

 private:
  class Moves final : public NoKernels {
   public:
    void copy(const Tensor& from, Out to) const override {
      std::memmove(to.tensor.address(), from.address(), from.bytes());
    }
    void upload(std::span<const std::byte> from, Out to) const override {
      std::memcpy(to.tensor.address(), from.data(), from.size());
    }
    void download(const Tensor& from, std::span<std::byte> to) const override {
      std::memcpy(to.data(), from.address(), to.size());
    }
  };

  Device& host_;
  Moves moves_;
};

}  // namespace lockstep::grader
