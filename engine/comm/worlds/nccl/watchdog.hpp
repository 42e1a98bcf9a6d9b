// A thread of the group that watches the operations issued to the GPU, because the host waits
// nowhere. It finds that NCCL has failed, that a peer's process has ended, that a peer has said why
// it failed, and that an operation is not done in time. A NCCL operation whose peer is gone never
// ends by itself.
//
// An operation's time begins when the GPU comes to it: when the device has done what was asked for
// before, and the communicator is done with the operation before. To ask CUDA how far it is costs a
// call, so it is asked about operations older than a second only, or when somebody is in a hurry.
// Of the peers, too, it asks only where such an operation is not done.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "engine/comm/stores/socket.hpp"
#include "engine/comm/worlds/nccl/abortable_communicator.hpp"

namespace lockstep::comm {

class Watchdog {
 public:
  // Processes of this host whose end shall be noticed: by rank.
  using Processes = std::map<int, Descriptor>;
  // A failure: what was being done ("collective no. 3, …"), why it cannot go on, and how long peers
  // may take to hear of it. Where they wait for their GPU, their watchdogs have to look.
  struct Finding {
    std::string doing, why;
    double peers_learn_s = 0.5;
  };
  // Why a peer failed, as far as it said; else empty. May wait for the store.
  using PeersReason = std::function<std::string()>;
  // Handles a failure. The watchdog's thread calls it once at most.
  using Fail = std::function<void(const Finding& finding)>;

  Watchdog(double timeout_s, RankNames names, Processes processes, PeersReason peers_reason,
           Fail fail);
  ~Watchdog() { stop(); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void watch(AbortableCommunicator& communicator);
  // An operation that was issued on the communicator; called in the order of issue.
  void add(AbortableCommunicator& communicator, std::shared_ptr<Flight> flight);
  // Waits until all is done, or has failed.
  void wait_until_idle();
  void stop();  // and lets go of all
  // The rank whose process has ended: that rank, or any if it is -1. Nothing if none has.
  std::optional<int> ended(int rank) const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Entry {
    std::shared_ptr<Flight> flight;
    std::shared_ptr<gpu::Moment> done;
    Time asked;
    std::optional<Time> begun = {};
  };
  struct Watched {
    AbortableCommunicator* communicator;
    std::deque<Entry> entries = {};
  };

  void work();
  std::optional<Finding> look();
  std::optional<Finding> look_at(Watched& watched, Time now);
  std::optional<Finding> look_for_the_ended(Time now);
  std::optional<Finding> ask_peers(std::unique_lock<std::mutex>& lock);
  std::string oldest();

  const double timeout_s_;
  const RankNames names_;
  const Processes processes_;
  const PeersReason peers_reason_;
  const Fail fail_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Watched> communicators_;
  std::optional<Time> ended_since_, failing_since_;
  Time peers_asked_{};
  bool hurried_ = false, failed_ = false, ending_ = false;
  std::thread thread_;
};

}  // namespace lockstep::comm
