// The device on which the tensors of a case lie. Which one it is, the file that is linked says, as
// of make_world: a processor's memory, poisoned, or this rank's GPU.
#pragma once

#include <cstring>
#include <memory>
#include <span>

#include "engine/sim/hosts/player.hpp"
#include "engine/tensor/kernels.hpp"
#include "engine/tensor/tensor.hpp"

namespace lockstep::grader {

class CaseDevice {
 public:
  virtual ~CaseDevice() = default;
  virtual Device& device() = 0;
  //   Throws  Error when something was used that must not be, such as memory behind a tensor
  virtual void require_intact() = 0;
};

// Made before the world of the same case, and ends after it.
std::unique_ptr<CaseDevice> make_case_device(const sim::PlayerCase& played);

// A tensor's elements from the judge's bytes, and back, wherever they lie.
inline void write_bytes(const Tensor& tensor, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  Device& device = tensor.device();
  if (device.on_host()) {
    std::memcpy(tensor.raw_bytes().data(), bytes.data(), bytes.size());
    return;
  }
  device.kernels().upload(bytes, tensor);
}

inline Bytes copy_of(const Tensor& tensor) {
  const Tensor here = to_host(tensor);
  const auto bytes = here.raw_bytes();
  return {bytes.begin(), bytes.end()};
}

}  // namespace lockstep::grader
