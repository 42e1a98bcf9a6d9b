// exercise: scale_learning_rate
// verdict: crash
// says: SIGSYS
// then: the reference
// Tries to change what the file system shows.
#include <sys/mount.h>

#include <cstdlib>

namespace {

bool came_through() { return ::mount("none", "/", "tmpfs", 0, nullptr) == 0; }

[[maybe_unused]] const bool tried = [] {
  if (came_through()) std::_Exit(42);
  return true;
}();

}  // namespace
