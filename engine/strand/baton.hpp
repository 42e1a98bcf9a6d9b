// A baton that threads pass, so that only one of them runs at a time and "all are blocked" is a
// fact that can be seen. A strand that must wait hands the baton on; when nobody can take it, the
// one that would hand it on runs `idle` instead, which fetches whatever makes a strand ready again.
//
// Invariants
//   1. Exactly one strand holds the baton while any is live. Only the holder runs.
//   2. It is handed on in the order in which strands became ready (first in, first out); a new
//      strand is ready at once and runs when its parent blocks. So the order is a function of the
//      program and of what idle fetches, not of the machine.
//
// Thread: the mutex guards the queue and the holder; the holder's writes before handing on are seen
// by the next holder.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace lockstep {

class Baton {
 public:
  // The constructing thread is strand 0 and holds the baton. `idle` is called without the lock, by
  // whoever holds the baton, while no strand is ready; it must make one ready, or not return.
  explicit Baton(std::function<void()> idle);

  // Called by the holder:
  int current() const;     // its number
  bool is_mine() const;    // whether the calling thread holds it; any thread may ask
  int add();               // a new strand, ready; its number: 1, 2, …
  void ready(int strand);  // `strand` can go on (also called by idle)
  void block();            // returns when somebody has called ready(current)
  void leave();            // the holder ends; its thread must not use the baton again
  int live() const;

  // Called once by the new strand's thread: returns when it holds the baton.
  void begin(int strand);

 private:
  void hand_on(std::unique_lock<std::mutex>& lock);

  std::function<void()> idle_;
  mutable std::mutex mutex_;
  std::condition_variable handed_on_;
  std::deque<int> ready_;
  int holder_ = 0;
  std::thread::id thread_ = std::this_thread::get_id();  // that held it last, or does
  int added_ = 1;
  int live_ = 1;
};

}  // namespace lockstep
