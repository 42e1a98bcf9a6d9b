// exercise: scale_learning_rate
// verdict: crash
// says: SIGSYS
// then: the reference
// Uses io_uring, whose operations no system-call filter sees.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace {

bool came_through() { return ::syscall(SYS_io_uring_setup, 8, nullptr) >= 0; }

[[maybe_unused]] const bool tried = [] {
  if (came_through()) std::_Exit(42);
  return true;
}();

}  // namespace
