// A fiber: a function with a call stack of its own, which runs in the thread of whoever resumes it
// until it suspends itself. Thousands of them cost no thread, and which one runs when is decided by
// the program alone.
//
//     Fiber fiber(FiberStack(), [&](Fiber& self) { step(1); self.suspend(); step(2); });
//     fiber.resume();  // step 1
//     fiber.resume();  // step 2; done() now
//
// Invariants
//   1. At most one fiber of a thread runs, and the one that resumed it waits for it.
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

  // Called by the fiber itself: back to who resumed it; returns at the next resume().
  void suspend();

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
  static void run(void* fiber);
  void go(Leaving leaving);  // from this stack to its resumer's
  void swap_exceptions();

  FiberStack stack_;
  Body body_;
  CallStack own_, resumer_;
  StackNotes own_notes_, resumer_notes_;
  Exceptions exceptions_;  // of whichever side does not run
  std::exception_ptr failure_;
  bool running_ = false, done_ = false;
};

}  // namespace lockstep
