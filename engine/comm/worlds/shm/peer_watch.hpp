// How a rank waits for its peers and learns that they are gone.
//
// Waiting has three steps. A rank that has a core of its own looks again and again: its peers are
// microseconds away. Then it lets others run (sched_yield), no longer than a slice. Then it sleeps
// (futex), at most a slice at a time; between two slices it asks whether a peer's process has ended
// (pidfd), whether somebody failed and whether the deadline has passed. A process that was killed
// can say nothing itself, so two slices are how long its peers go without knowing.
//
// A strand beside the rank's own thread sleeps as soon as somebody else wants its core: that is
// mostly what the rank computes. While nobody does, its turns cost nothing, and being woken from
// sleep takes longer.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "engine/comm/stores/socket.hpp"
#include "engine/comm/worlds/shm/control.hpp"

namespace lockstep::comm::shm {

// How often to look before sleeping, and how often others may take the core meanwhile.
struct Patience {
  int looks;
  int turns;
};

// How to wait: the deadline counts from when looking did not help.
struct Manner {
  Patience patience;
  double timeout_s;
};

// The exception that ends a wait which cannot end well.
struct Lost {
  enum class Reason : std::uint8_t { ended, left, failed, late } reason;
  int rank;  // whom it concerns; of `late` the one waited for
};

class PeerWatch {
 public:
  // `ranks_of_host` are all that may want a core at the same time. The calling thread is the one
  // that computes.
  PeerWatch(const Control& control, int rank, int size, int ranks_of_host);

  // From here on the death of a peer's process is noticed. All peers have written their pid.
  void watch_processes();

  // Moves this rank's phase: what it wrote before is there for all.
  void publish();
  // Waits until all ranks have published `phase` times. Throws Lost.
  void await(std::uint64_t phase, Manner manner);
  // Waits until `ready`, which looks at what `from` sends, asked again whenever this rank's bell
  // rings; `asleep` is called once, when it takes long. Throws Lost.
  void await_message(int from, double timeout_s, const std::function<bool()>& ready,
                     const std::function<void()>& asleep);
  void ring(int rank);  // that bell

  // Says that this rank is gone, and wakes all who wait.
  void say(std::uint64_t how);

  // The patience of the calling thread.
  Patience patience() const {
    return std::this_thread::get_id() == computes_ ? of_computing_ : of_strand_;
  }

 private:
  void await_rank(int rank, std::uint64_t phase, Manner manner);
  void check_peers(int waited_for);

  Control control_;
  int rank_, size_;
  std::thread::id computes_ = std::this_thread::get_id();
  Patience of_computing_, of_strand_;
  std::vector<Descriptor> processes_;  // pidfds by rank; none for threads of this process
};

}  // namespace lockstep::comm::shm
