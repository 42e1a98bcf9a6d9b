// Saving while training goes on. A save has two halves: the snapshot copies the state, beside the
// step, and takes as long as memory does; the write brings the copy to the storage, on a strand of
// its own, and takes as long as the storage does.
//
//   step 10 | snapshot | step 11 | step 12 | step 13 | snapshot | ...
//           start      └── write of step 10 ──┘      start
//
// The snapshot costs as many bytes as the state has. So one save is in flight at a time.
// Source: [MPC21] (snapshot and persist); PyTorch's torch.distributed.checkpoint.async_save copies
// to the CPU first in the same way
//
// Left out: copying beside the next forward pass, which does not change the state yet.
#pragma once

#include <functional>
#include <memory>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/strand/strand.hpp"

namespace lockstep::checkpoint {

class AsyncCheckpoint {
 public:
  // Writes a snapshot: saves it, alone or together with other ranks. It runs on another strand, so
  // what it calls must be its own there, such as a group that was split off.
  using Write = std::function<void(const Contents& snapshot)>;

  // Waits for the save in flight. An error of it is lost: call wait() first.
  virtual ~AsyncCheckpoint() = default;

  // Begins a save, when the one in flight is over.
  //   contents  views of the state, which the next step may change as soon as this returns
  //   Ensures   write(snapshot) is called once, on another strand. The snapshot lies on a host
  //             device, has all that `contents` had at the call, and lives until write() has
  //             returned. No more than one snapshot exists at a time
  //   Throws    what the write before it threw, once; nothing is begun then
  virtual void start(const Contents& contents, Write write) = 0;

  // Returns when no save is in flight.
  //   Throws  what its write threw, unless start() or wait() has thrown that before
  virtual void wait() = 0;
};

// A part: defined in solutions/17_fault_tolerance.
//   Requires  `strands` outlives the result
//   Thread    start(), wait() and the destructor run on one strand
std::unique_ptr<AsyncCheckpoint> make_async_checkpoint(Strands& strands);

}  // namespace lockstep::checkpoint
