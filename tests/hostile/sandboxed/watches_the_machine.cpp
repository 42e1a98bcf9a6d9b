// exercise: scale_learning_rate
// verdict: crash
// says: SIGSYS
// then: the reference
// Reads the kernel's counters of other processes.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace {

bool came_through() { return ::syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0) >= 0; }

[[maybe_unused]] const bool tried = [] {
  if (came_through()) std::_Exit(42);
  return true;
}();

}  // namespace
