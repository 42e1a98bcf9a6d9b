// The state that the collectives and the messages of a group share: the GPU, the host's group for
// words between the ranks, and the handling of failures.
//
// A failure, in steps:
//   a. The first one on this rank is the group's. The host's groups are given up, so peers that
//      compare or wait there fail. The reason goes to the store, for the watchdogs of peers that
//      wait for their GPU alone.
//   b. The ranks tell each other through the store what they were doing (rendezvous.hpp).
//   c. All communicators are aborted, so that the GPU goes on. This comes after b: a peer's GPU may
//      go on as well then, and its rank would end well without having been told.
//   d. Whoever waits for an operation, starts one, or reads what the GPU has made, is told.
//
// Thread: any.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/comm/store.hpp"
#include "engine/comm/worlds/nccl/abortable_communicator.hpp"
#include "engine/comm/worlds/nccl/watchdog.hpp"
#include "engine/gpu/open_gpu.hpp"
#include "engine/gpu/wires.hpp"

namespace lockstep::comm {

class NcclCore {
 public:
  struct Parts {
    int rank = 0, size = 1;
    RankNames names = {};
    double timeout_s = 30;
    std::unique_ptr<Store> keys = {};          // this group's part of the store
    std::unique_ptr<ProcessGroup> words = {};  // the host's
    std::shared_ptr<gpu::Wires> wires =
        {};  // shared with who still joins when the group has failed
    std::function<void(const std::string& why)> give_up_host = {};  // words, and beside them
    Watchdog::Processes processes = {};
  };
  explicit NcclCore(Parts parts);

  int rank() const { return parts_.rank; }
  int size() const { return parts_.size; }
  const RankNames& names() const { return parts_.names; }
  double timeout_s() const { return parts_.timeout_s; }
  ProcessGroup& words() const { return *parts_.words; }
  gpu::Wires& wires() const { return *parts_.wires; }
  Store& keys() const { return *parts_.keys; }
  FirstFailure& failure() { return failure_; }
  Watchdog& watchdog() { return watchdog_; }

  // A communicator, made by all that join with this id. NCCL waits for them without a deadline; so
  // a thread of its own does it, which is left behind where the group fails meanwhile.
  //   whom    the rank of the group that is waited for; -1 is all of them
  //   Throws  Error where it has ended, or does not come in time
  std::unique_ptr<AbortableCommunicator> join(const gpu::WireId& id, int rank, int size, int whom);
  // Called when the watchdog has ended, before any communicator goes.
  void forget_communicators();

  // Issues the calls on the communicator, and lets the watchdog look after them.
  void launch(AbortableCommunicator& communicator, const std::shared_ptr<Flight>& flight,
              std::span<const gpu::WireCall> calls);

  // "collective no. 3, …" cannot go on; empty: no call was under way. Returns what everybody is
  // told from then on.
  //   peers_learn_s  how long a peer that lives may take to hear of it
  std::string fail(const std::string& asked, const std::string& why, double peers_learn_s = 0.5);
  // The same, as what an operation throws.
  std::exception_ptr failed(const std::string& doing, const std::string& why);
  // Throws where the group has failed, when all is known about it; `doing` cannot be done then.
  void refuse_if_failed(const std::function<std::string()>& doing);
  bool has_failed() const { return !failure_.cause().empty(); }
  // The group ends, or a peer's failure ends it.
  void give_up(const std::string& why);

  // An operation for which the device waits: the next read of the host makes sure that the ranks
  // agreed on it.
  void waited_for(std::shared_ptr<Flight> flight);

 private:
  void check_settled();
  void abort_all();

  Parts parts_;
  FirstFailure failure_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable told_changed_;
  bool told_ = false;  // the failure's cause is complete
  bool aborted_ = false;
  std::vector<AbortableCommunicator*> communicators_;
  std::vector<std::shared_ptr<Flight>> waited_;
  Watchdog watchdog_;  // last: ends first
};

// The text behind " failed; " in an error of the host's group. The text before it names a call that
// the user never made.
std::string reason_in(const std::string& told_by_host);

}  // namespace lockstep::comm
