// Notes to the sanitizers when a thread changes its stack. Internal to engine/strand; one of
// stack_notes_{none,address,thread}.cpp implements it.
#pragma once

#include <cstddef>
#include <span>

namespace lockstep {

// The notes on one stack. Zero-initialised, they are those of the thread's own stack.
struct StackNotes {
  void* handle = nullptr;         // the sanitizer's own
  std::span<std::byte> memory{};  // of the address sanitizer: where it lies
};

void note_new_stack(StackNotes& stack, std::span<std::byte> memory);
// Just before the switch, on the stack that is left. `ends`: it will not be gone back to.
enum class Leaving { returns, ends };
void note_leaving(StackNotes& from, StackNotes& to, Leaving leaving);
// Just after it, on `now`; the one that was left is `from`.
void note_arrived(StackNotes& now, StackNotes& from);
void note_gone(StackNotes& stack);

}  // namespace lockstep
