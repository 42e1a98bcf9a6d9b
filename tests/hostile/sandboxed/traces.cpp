// exercise: scale_learning_rate
// verdict: crash
// says: SIGSYS
// then: the reference
// Tries to read another process as a debugger does.
#include <sys/ptrace.h>

#include <cstdlib>

namespace {

bool came_through() { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0; }

[[maybe_unused]] const bool tried = [] {
  if (came_through()) std::_Exit(42);
  return true;
}();

}  // namespace
