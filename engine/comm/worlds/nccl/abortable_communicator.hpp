// A communicator of a GPU that any thread may abort, and an operation on its way over it.
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/comm/worlds/nccl/call_fingerprint.hpp"
#include "engine/gpu/wires.hpp"

namespace lockstep::comm {

// NCCL forbids every call of a communicator that was aborted, so asking and aborting take turns.
// Asking may hang inside of NCCL, where it connects to a peer that is gone: then it is aborted all
// the same, which lets it go.
class AbortableCommunicator {
 public:
  explicit AbortableCommunicator(std::unique_ptr<gpu::Communicator> communicator)
      : communicator_(std::move(communicator)) {}

  // Throws CommError after abort().
  std::shared_ptr<gpu::Moment> ask(std::span<const gpu::WireCall> calls, gpu::Moment& after);
  std::string failure();  // what NCCL has found wrong; empty where it is well
  void abort() noexcept;

 private:
  std::unique_ptr<gpu::Communicator> communicator_;
  std::timed_mutex mutex_;  // asking, or aborting
  bool aborted_ = false;    // guarded by it
};

// An operation, from when it was started until the GPU has done it.
//
// Invariant: its tensors stay until the GPU is done with them, or until what the device does from
// then on comes after it: so their memory may be given out again at once (gpu/block_pool.hpp).
class Flight {
 public:
  // A message's, with what its group's ranks are called.
  struct Message {
    MessageCall call;
    RankNames names;
  };
  using What = std::variant<CallFingerprint, Message>;
  Flight(What what, std::vector<Tensor> tensors, std::shared_ptr<gpu::Moment> ready)
      : what_(std::move(what)), tensors_(std::move(tensors)), ready_(std::move(ready)) {}

  std::string doing() const;
  const What& what() const { return what_; }
  // The moment at which the device has done what it was asked for before.
  gpu::Moment& ready() const { return *ready_; }

  // NCCL was asked; done: null where there was nothing to ask for.
  void launched(std::shared_ptr<gpu::Moment> done);
  // All ranks that take part have asked for the same.
  void checked();
  // Ends the operation with a failure, which all who wait for it throw.
  void failed(std::exception_ptr failure);

  // Both wait, and throw what failed() was given.
  std::shared_ptr<gpu::Moment> done();
  void wait_checked();
  bool is_checked() const;
  void let_go();

 private:
  const What what_;
  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::vector<Tensor> tensors_;
  std::shared_ptr<gpu::Moment> ready_, done_;
  bool launched_ = false, checked_ = false;
  std::exception_ptr failure_;
};

}  // namespace lockstep::comm
