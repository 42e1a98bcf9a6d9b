// The world in which a case is played: the device on which its tensors lie, and the ranks' group.
// The file that is linked decides which world it is: the judge's own (simulated_world.cpp),
// processes that share memory (shared_memory_world.cpp), or processes that have a GPU each
// (gpu_world.cpp).
#pragma once

#include <cstring>
#include <memory>
#include <span>

#include "engine/comm/process_group.hpp"
#include "engine/sim/hosts/player.hpp"
#include "engine/tensor/kernels.hpp"
#include "engine/tensor/tensor.hpp"

namespace lockstep::grader {

class CaseWorld {
 public:
  virtual ~CaseWorld() = default;
  virtual Device& device() = 0;
  // The group of all ranks of the case; it ends before this does.
  virtual std::unique_ptr<comm::ProcessGroup> join(sim::PlayerCase& played) = 0;
  //   Throws  Error when something was used that must not be, such as memory behind a tensor
  virtual void require_intact() = 0;
};

std::unique_ptr<CaseWorld> make_case_world(const sim::PlayerCase& played);

// Ends the groups of a case, the part's and the world's. One of GPUs holds the tensors of a call
// until its watchdog has seen the call end, so what a part has kept is counted after this.
inline void end_groups(std::unique_ptr<comm::ProcessGroup>& group,
                       std::unique_ptr<comm::ProcessGroup>& world) {
  group.reset();
  world.reset();
}

// A part gives back all of its tensors before the device ends that they lie on. One that lives on,
// in a static variable, gives its memory to a device that is gone: a crash at the end of training.
//   held_bytes  of the adapter's own tensors
//   Throws  Error
inline void require_released(const Device& device, std::int64_t held_bytes) {
  const std::int64_t kept = device.bytes_now() - held_bytes;
  if (kept <= 0) return;
  throw Error(text("a tensor of ", kept, kept == 1 ? " byte" : " bytes",
                   " outlives the part's last call: it lies on a device that ends before the "
                   "process does, and then gives its memory back to nobody. Keep no tensor in a "
                   "static variable"));
}

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
