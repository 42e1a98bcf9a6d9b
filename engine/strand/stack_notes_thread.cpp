// Compiled without the thread sanitizer: its record of calls must not change inside one of them.
#include <sanitizer/tsan_interface.h>

#include "engine/strand/stack_notes.hpp"

namespace lockstep {

void note_new_stack(StackNotes& stack, std::span<std::byte>) {
  stack.handle = __tsan_create_fiber(0);
}

void note_leaving(StackNotes& from, StackNotes& to, Leaving) {
  if (from.handle == nullptr) from.handle = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.handle, 0);
}

void note_arrived(StackNotes&, StackNotes&) {}

void note_gone(StackNotes& stack) { __tsan_destroy_fiber(stack.handle); }

}  // namespace lockstep
