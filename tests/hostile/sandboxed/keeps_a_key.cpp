// exercise: scale_learning_rate
// verdict: crash
// says: SIGSYS
// then: the reference
// Stores data in the kernel's key rings, which outlive a process.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace {

bool came_through() { return ::syscall(SYS_keyctl, 0, -2, 1) >= 0; }

[[maybe_unused]] const bool tried = [] {
  if (came_through()) std::_Exit(42);
  return true;
}();

}  // namespace
