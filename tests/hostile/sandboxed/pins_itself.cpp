// exercise: scale_learning_rate
// verdict: pass
// says:
// then: the reference
// Tries to slow its neighbours down.
#include <sched.h>
#include <sys/resource.h>

#include <cstdlib>

namespace {

bool came_through() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  return ::sched_setaffinity(0, sizeof one, &one) == 0 || ::setpriority(PRIO_PROCESS, 0, 5) == 0;
}

[[maybe_unused]] const bool tried = [] {
  if (came_through()) std::_Exit(42);
  return true;
}();

}  // namespace
