// exercise: scale_learning_rate
// verdict: crash
// says: SIGSYS
// then: the reference
// Tries to be root in a namespace of its own.
#include <sched.h>

#include <cstdlib>

namespace {

bool came_through() { return ::unshare(CLONE_NEWUSER) == 0; }

[[maybe_unused]] const bool tried = [] {
  if (came_through()) std::_Exit(42);
  return true;
}();

}  // namespace
