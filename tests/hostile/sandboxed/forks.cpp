// exercise: scale_learning_rate
// verdict: pass
// says:
// then: the reference
// Forks once.
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>

namespace {

bool came_through() {
  const pid_t child = ::fork();
  if (child == 0) ::sleep(1000);
  return child > 0;
}

[[maybe_unused]] const bool tried = [] {
  if (came_through()) std::_Exit(42);
  return true;
}();

}  // namespace
