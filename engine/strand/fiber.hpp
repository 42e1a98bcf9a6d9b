// A fiber: a function with a call stack of its own, which runs in the thread of whoever resumes it
// until it suspends itself. Thousands of them cost no thread, and which one runs when is decided by
// the program alone.
//
//     Fiber fiber(FiberStack(), [&](Fiber& self) { step(1); self.suspend(); step(2); });
//     fiber.resume();  // step 1
//     fiber.resume();  // step 2; done() now
//
// Invariants
//   1. At most one fiber of a thread runs. Whoever resumed it waits until it, or the last of those
//      to which it was handed over, suspends itself or ends.
//   2. Each fiber has its own exceptions in flight: one may suspend inside a catch block, and
//      another throw meanwhile.
//   3. A fiber that has begun and is dropped before it is done is abandoned: its stack goes, its
//      destructors do not run. What it owned is lost.
//
// A fiber must not be suspended while it holds a lock of the machine (std::mutex): whoever runs
// next may want it, in the same thread. Thread: a fiber is resumed by the thread that began it.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <span>

#include "engine/strand/call_stack.hpp"
#include "engine/strand/stack_notes.hpp"

namespace lockstep {

// Memory for a call stack. Pages are taken from the machine when they are touched; a page below it
// is forbidden, so that running over the end is a fault and not a silent overwriting.
class FiberStack {
 public:
  static constexpr std::size_t usual_bytes = std::size_t{256} << 10;

  // Throws Error when the system has no more memory or mappings.
  explicit FiberStack(std::size_t bytes = usual_bytes);
  ~FiberStack();
  FiberStack(FiberStack&& other) noexcept;
  FiberStack& operator=(FiberStack&& other) noexcept;

  std::span<std::byte> memory() const { return memory_; }

 private:
  std::span<std::byte> memory_;  // without the guard
};

class Fiber {
 public:
  using Body = std::function<void(Fiber& self)>;

  Fiber(FiberStack stack, Body body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs it until it suspends itself or ends; rethrows what its body threw.
  //   Requires  neither done nor running
  void resume();

  // Called by the fiber itself: back to who resumed it; returns when it runs again.
  void suspend();

  // Called by the fiber itself: `next` runs in its place, and goes back to who resumed this one.
  // Returns when it runs again. Half the way of suspend() and resume(); and as one that waits in
  // the same function is gone on with, the processor guesses the returns that follow.
  //   Requires  `next` neither done nor running
  void hand_over(Fiber& next);

  bool done() const { return done_; }
  // To be used by another one. Requires done().
  FiberStack take_stack();

 private:
  // As the C++ runtime keeps them per thread (__cxa_get_globals): exceptions being handled, and
  // thrown.
  struct Exceptions {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  // The context that waits in resume().
  struct Resumer {
    CallStack stack;
    StackNotes notes;
    Exceptions exceptions;          // its own, while a fiber runs
    Exceptions* current = nullptr;  // of the thread
    StackNotes* left = nullptr;     // of the stack that was switched away from last
    Fiber* last = nullptr;          // that ran
  };
  static void run(void* fiber);
  void begin_to_run(Resumer& resumer);
  void stop_running();
  void go_back(Leaving leaving);

  CallStack own_;
  Resumer* resumer_ = nullptr;
  Exceptions exceptions_;  // while it does not run
  bool running_ = false, done_ = false;
  FiberStack stack_;
  Body body_;
  StackNotes own_notes_;
  std::exception_ptr failure_;
};

}  // namespace lockstep
