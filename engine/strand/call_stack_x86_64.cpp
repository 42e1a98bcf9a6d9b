// x86-64: a stack that is not running is its stack pointer. On it lie, from there on up, the six
// registers that a called function must preserve and the address at which to go on. 4 ns, where
// swapcontext takes 150 because it asks the kernel for the signal mask.
#include <array>
#include <cstdint>
#include <cstring>

#include "engine/strand/call_stack.hpp"

extern "C" {
// Pushes what must be preserved, leaves the stack pointer at *from, and takes up `to`.
void lockstep_switch_stack(void** from, void* to);
// The first function of a new stack: calls rbx with r12 as its argument.
void lockstep_begin_stack();
}

asm(R"(
.pushsection .text
.type lockstep_switch_stack, @function
lockstep_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size lockstep_switch_stack, .-lockstep_switch_stack

.type lockstep_begin_stack, @function
lockstep_begin_stack:
  movq %r12, %rdi
  callq *%rbx
  ud2
.size lockstep_begin_stack, .-lockstep_begin_stack
.popsection
)");

namespace lockstep {

CallStack::CallStack(std::span<std::byte> memory, void (*entry)(void*), void* argument) {
  // From the lowest address on: r15, r14, r13, r12, rbx, rbp, and where to go on. When they are
  // taken the stack is empty, at a multiple of 16, as the calling convention wants it for a call.
  const std::array<std::uintptr_t, 7> frame{
      0,
      0,
      0,
      reinterpret_cast<std::uintptr_t>(argument),
      reinterpret_cast<std::uintptr_t>(entry),
      0,
      reinterpret_cast<std::uintptr_t>(&lockstep_begin_stack)};
  const auto top = reinterpret_cast<std::uintptr_t>(memory.data() + memory.size()) & ~15ULL;
  state_ = reinterpret_cast<void*>(top - sizeof frame);
  std::memcpy(state_, frame.data(), sizeof frame);
}

CallStack::~CallStack() = default;

void CallStack::switch_to(CallStack& to) { lockstep_switch_stack(&state_, to.state_); }

}  // namespace lockstep
