// exercise: scale_learning_rate
// verdict: crash
// says: SIGSYS
// then: the reference
// Tries to run code inside the kernel.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace {

bool came_through() { return ::syscall(SYS_bpf, 0, nullptr, 0) >= 0; }

[[maybe_unused]] const bool tried = [] {
  if (came_through()) std::_Exit(42);
  return true;
}();

}  // namespace
