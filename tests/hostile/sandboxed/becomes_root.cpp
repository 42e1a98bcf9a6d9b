// exercise: scale_learning_rate
// verdict: pass
// says:
// then: the reference
// Tries to become root.
#include <grp.h>
#include <unistd.h>

#include <cstdlib>

namespace {

bool came_through() {
  return ::setuid(0) == 0 || ::setgid(0) == 0 || ::setgroups(0, nullptr) == 0 || ::getuid() == 0;
}

[[maybe_unused]] const bool tried = [] {
  if (came_through()) std::_Exit(42);
  return true;
}();

}  // namespace
