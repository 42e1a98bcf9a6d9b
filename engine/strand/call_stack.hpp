// Call stacks to switch between, within one thread. Internal to engine/strand: fiber.hpp is what
// others use. One of two files stands behind it: call_stack_x86_64.cpp, or call_stack_ucontext.cpp
// on other processors.
#pragma once

#include <cstddef>
#include <span>

namespace lockstep {

class CallStack {
 public:
  // The stack of whoever calls: it is known once it has been switched away from.
  CallStack() = default;
  // A new one in `memory`, on which entry(argument) begins. entry must never return.
  CallStack(std::span<std::byte> memory, void (*entry)(void*), void* argument);
  ~CallStack();
  CallStack(const CallStack&) = delete;
  CallStack& operator=(const CallStack&) = delete;

  // Goes on where `to` was left; returns when somebody switches back to this one. What a function
  // may expect to find unchanged after a call is unchanged, but for the floating-point control
  // words: all stacks share one rounding mode.
  void switch_to(CallStack& to);

 private:
  void* state_ = nullptr;
};

}  // namespace lockstep
