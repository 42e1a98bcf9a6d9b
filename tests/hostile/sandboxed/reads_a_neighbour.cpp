// exercise: scale_learning_rate
// verdict: crash
// says: SIGSYS
// then: the reference
// Tries to read another process's memory.
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>

namespace {

bool came_through() {
  char here[64];
  iovec mine{here, sizeof here}, theirs{here, sizeof here};
  return ::process_vm_readv(1, &mine, 1, &theirs, 1, 0) > 0;
}

[[maybe_unused]] const bool tried = [] {
  if (came_through()) std::_Exit(42);
  return true;
}();

}  // namespace
