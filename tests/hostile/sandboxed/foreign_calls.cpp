// exercise: scale_learning_rate
// verdict: crash
// says: SIGSYS
// then: the reference
// Makes system calls of another architecture.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace {

bool came_through() {
  return ::syscall(0x40000000 | SYS_getpid) > 0;  // x32, which some filters forget
}

[[maybe_unused]] const bool tried = [] {
  if (came_through()) std::_Exit(42);
  return true;
}();

}  // namespace
