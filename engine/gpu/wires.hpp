// NCCL as the rest of the engine sees it: communicators of a GPU's process with others, each with a
// stream of its own, and moments in streams. The interface knows neither CUDA nor NCCL; the
// implementation is in liblockstep_gpu.so (gpu/nccl/). comm/worlds/nccl decides which rank calls
// what, and which one failed.
//
// Thread: everything may be called by any thread. Calls of one communicator come one at a time, but
// for failure() and abort().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/tensor/tensor.hpp"

namespace lockstep::gpu {

// The id of a communicator: one rank makes it, all ranks need it.
using WireId = std::array<std::byte, 128>;

enum class WireVerb : std::uint8_t {
  all_reduce,
  broadcast,
  reduce,
  all_gather,
  reduce_scatter,
  send,
  recv,
  copy
};

// One call of NCCL's. `from` is what this rank brings, `to` what it gets; either may be undefined
// where the verb has none of it on this rank. copy: within this rank's memory.
struct WireCall {
  WireVerb verb = WireVerb::copy;
  Tensor from = {}, to = {};
  ReduceOp op = ReduceOp::sum;  // not average
  int peer = -1;                // of send and recv; the root of broadcast and reduce
};

// A moment in a stream: all that the stream had been asked for has been done.
class Moment {
 public:
  virtual ~Moment() = default;
  // Makes the device wait: what it is asked for from here on comes after this moment. The host goes
  // on.
  virtual void let_device_wait() = 0;
  virtual bool has_come() = 0;  // asks CUDA
};

class Communicator {
 public:
  // Ends the communicator when what it was asked for is done; or at once after abort().
  virtual ~Communicator() = default;
  // Asks for the calls, as one group, behind `after`. Returns the moment when they are done. Until
  // then their tensors must stay, and what is read must not change.
  //   Throws  GpuError; not where what was asked for fails later
  virtual std::shared_ptr<Moment> ask(std::span<const WireCall> calls, Moment& after) = 0;
  // The error that NCCL has found since; empty if all is well.
  virtual std::string failure() = 0;
  // Ends what was asked for, with any values. Nothing may be asked for afterwards.
  virtual void abort() noexcept = 0;
};

class Wires {
 public:
  virtual ~Wires() = default;
  // Which GPU of its machine it is, whatever numbers processes give it: where it is plugged in.
  virtual std::uint64_t place() = 0;
  virtual WireId new_id() = 0;
  // Returns when `size` ranks have joined with this id.
  //   Throws  GpuError
  virtual std::unique_ptr<Communicator> join(const WireId& id, int rank, int size) = 0;
  // The moment at which the device has done all that it has been asked for so far.
  virtual std::shared_ptr<Moment> now() = 0;
  // Called in each Device::settle() when the device has been waited for, also where that failed,
  // and before anything is thrown or told. What it throws is thrown.
  virtual void when_settled(std::function<void()> check) = 0;
};

// Opens the wires of a device of open_gpu's, which outlives them.
//   Throws  GpuError where the device is another one, or the build has no GPU code
std::unique_ptr<Wires> open_wires(Device& gpu);

}  // namespace lockstep::gpu
