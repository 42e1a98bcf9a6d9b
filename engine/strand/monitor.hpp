// A monitor [HOA74]: a lock around what strands share, with waiting for a change. Strands make it,
// because blocking depends on the kind of strand.
//
//     std::vector<int> queue;                            // guarded by the monitor
//     {                                                  // one strand
//       const std::scoped_lock inside(*monitor);
//       monitor->wait([&] { return !queue.empty(); });
//       … take from queue …
//     }
//     {                                                  // another
//       const std::scoped_lock inside(*monitor);
//       queue.push_back(3);
//       monitor->notify_all();
//     }
//
// Invariants
//   1. At most one strand is inside, that is, between lock() and unlock() and not in wait().
//   2. wait() leaves the monitor and enters it again. When it returns, its condition holds, and no
//      other strand has been inside since the condition was checked.
//   3. A strand in wait() checks its condition again after every later notify_all(). If a strand
//      makes a condition true without notifying, the waiting strand may sleep forever.
//
// A strand that is inside should not block in any other way (read a file, wait for a message,
// join): all strands that want to enter would wait as long. Left out: waiting with a deadline,
// because a strand waits here only for strands of the same rank.
//
//   Throws  ContractError in a player, where strands take turns, when a call that belongs inside
//           comes from outside; with threads, that mistake would show only sometimes
#pragma once

#include <mutex>  // std::scoped_lock, with which strands come in
#include <source_location>

namespace lockstep {

class Monitor {
 public:
  virtual ~Monitor() = default;  // no strand is inside or waits

  // The names that std::scoped_lock wants. A strand that is inside must not lock again.
  virtual void lock() = 0;
  virtual void unlock() = 0;

  // Called inside: every strand in wait() checks its condition again.
  virtual void notify_all() = 0;

  // Called inside: returns when holds() is true. A deadlock report names `where`.
  template <typename Condition>
  void wait(Condition holds, const std::source_location& where = std::source_location::current()) {
    while (!holds()) wait_for_change(where);
  }

 protected:
  virtual void wait_for_change(const std::source_location& where) = 0;
};

}  // namespace lockstep
