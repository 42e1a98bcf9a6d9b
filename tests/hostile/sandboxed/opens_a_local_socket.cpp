// exercise: scale_learning_rate
// verdict: pass
// says:
// then: the reference
// Tries to talk to the other ranks around the judge.
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>

namespace {

bool came_through() {
  int pair[2];
  return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;
}

[[maybe_unused]] const bool tried = [] {
  if (came_through()) std::_Exit(42);
  return true;
}();

}  // namespace
