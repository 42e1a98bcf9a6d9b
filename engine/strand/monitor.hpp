// A monitor [HOA74]: a lock for what strands share, and waiting for it to change. Made by Strands,
// since what blocks a strand must know what kind of strand it is.
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
//   2. wait() leaves the monitor and enters it again; when it returns, its condition holds, and
//      nobody has been inside since it was looked at.
//   3. A strand in wait() looks at its condition again after every notify_all() that came since.
//      What makes a condition true without notifying may go unseen for ever.
//
// A strand that is inside should not block otherwise (read a file, wait for a message, join):
// whoever wants to come in waits as long. Left out: waiting with a deadline; what a strand waits
// for here is done by strands of the same rank.
//
//   Throws  ContractError in a player, where strands take turns, when a call that belongs inside
//           comes from outside: threads would only sometimes show what that does
#pragma once

#include <mutex>  // std::scoped_lock, with which strands come in
#include <source_location>

namespace lockstep {

class Monitor {
 public:
  virtual ~Monitor() = default;  // nobody is inside or waits

  // The names that std::scoped_lock wants. A strand that is inside must not lock again.
  virtual void lock() = 0;
  virtual void unlock() = 0;

  // Called inside: every strand in wait() looks again.
  virtual void notify_all() = 0;

  // Called inside: returns when holds() is true. `where` is named when nobody can make it true.
  template <typename Condition>
  void wait(Condition holds, const std::source_location& where = std::source_location::current()) {
    while (!holds()) wait_for_change(where);
  }

 protected:
  virtual void wait_for_change(const std::source_location& where) = 0;
};

}  // namespace lockstep
