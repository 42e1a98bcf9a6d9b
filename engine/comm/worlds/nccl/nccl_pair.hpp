// Messages of one ordered pair of ranks, on one of its ends. The pair has a communicator, a stream
// and two threads of its own, so that nothing that another pair does can hold it up:
//
//   the launcher   meets the other end at the first message, then asks NCCL for one message after
//                  the other, as soon as they are started
//   the checker    compares what both ends asked for, when the other end says so
//
// Both ends tell each other through the host's group: the sender's words have tag 0, the receiver's
// tag 1, and nobody else of the group sends messages there.
#pragma once

#include <memory>

#include "engine/comm/worlds/nccl/core.hpp"
#include "engine/comm/worlds/ordered_worker.hpp"

namespace lockstep::comm {

class NcclPair {
 public:
  NcclPair(NcclCore& core, int src, int dst) : core_(core), src_(src), dst_(dst) {}
  ~NcclPair();
  NcclPair(const NcclPair&) = delete;
  NcclPair& operator=(const NcclPair&) = delete;

  // Sends or receives `data`; returns at once.
  void start(std::shared_ptr<Flight> flight, const Tensor& data);
  // Waits until everything that was started was launched and compared, or has failed.
  void drain();

 private:
  void carry(const std::shared_ptr<Flight>& flight, const Tensor& data, std::uint64_t number);
  void compare(const std::shared_ptr<Flight>& flight, const CallFingerprint& mine);
  void meet(const Where& where);
  bool sends() const { return core_.rank() == src_; }
  int other() const { return sends() ? dst_ : src_; }
  int tag_of_mine() const { return sends() ? 0 : 1; }

  NcclCore& core_;
  const int src_, dst_;
  CpuDevice host_;
  std::uint64_t started_ = 0;
  std::unique_ptr<AbortableCommunicator> communicator_;
  OrderedWorker checker_, launcher_;  // last: the launcher ends first
};

}  // namespace lockstep::comm
