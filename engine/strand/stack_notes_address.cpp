// The address sanitizer keeps the bounds of the current stack, and a copy of its variables.
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

#include "engine/strand/stack_notes.hpp"

namespace lockstep {

void note_new_stack(StackNotes& stack, std::span<std::byte> memory) { stack.memory = memory; }

void note_leaving(StackNotes& from, StackNotes& to, Leaving leaving) {
  void** keep = leaving == Leaving::ends ? nullptr : &from.handle;
  __sanitizer_start_switch_fiber(keep, to.memory.data(), to.memory.size());
}

// The thread's own stack has no size until it is left for the first time.
void note_arrived(StackNotes& now, StackNotes& from) {
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(now.handle, &bottom, &size);
  from.memory = {static_cast<std::byte*>(const_cast<void*>(bottom)), size};
}

// Frames that were never left have poisoned what is around their variables.
void note_gone(StackNotes& stack) {
  ASAN_UNPOISON_MEMORY_REGION(stack.memory.data(), stack.memory.size());
}

}  // namespace lockstep
