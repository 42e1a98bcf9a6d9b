// Any processor: glibc's contexts.
#include <ucontext.h>

#include <cstdint>

#include "engine/base/error.hpp"
#include "engine/strand/call_stack.hpp"

namespace lockstep {

namespace {

ucontext_t* context_of(void*& state) {
  if (state == nullptr) state = new ucontext_t{};
  return static_cast<ucontext_t*>(state);
}

// makecontext passes ints, so a pointer comes in halves.
struct Beginning {
  void (*entry)(void*);
  void* argument;
};

void begin(unsigned high, unsigned low) {
  const auto address = static_cast<std::uintptr_t>(std::uint64_t{high} << 32 | low);
  const Beginning beginning = *reinterpret_cast<Beginning*>(address);
  beginning.entry(beginning.argument);
}

}  // namespace

CallStack::CallStack(std::span<std::byte> memory, void (*entry)(void*), void* argument) {
  ucontext_t* context = context_of(state_);
  LOCKSTEP_CHECK(getcontext(context) == 0, "getcontext failed: this system has no contexts");
  // At the lowest addresses, which a stack that grows downward reaches last.
  auto* beginning = new (memory.data()) Beginning{entry, argument};
  context->uc_stack.ss_sp = memory.data() + sizeof(Beginning);
  context->uc_stack.ss_size = memory.size() - sizeof(Beginning);
  const auto address = std::uint64_t{reinterpret_cast<std::uintptr_t>(beginning)};
  makecontext(context, reinterpret_cast<void (*)()>(begin), 2, static_cast<unsigned>(address >> 32),
              static_cast<unsigned>(address));
}

CallStack::~CallStack() { delete static_cast<ucontext_t*>(state_); }

void CallStack::switch_to(CallStack& to) {
  LOCKSTEP_CHECK(swapcontext(context_of(state_), context_of(to.state_)) == 0,
                 "swapcontext failed: no memory for the signal mask");
}

}  // namespace lockstep
