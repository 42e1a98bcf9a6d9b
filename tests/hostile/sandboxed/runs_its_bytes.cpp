// exercise: scale_learning_rate
// verdict: pass
// says:
// then: the reference
// Tries to make bytes of its own runnable.
#include <sys/mman.h>

#include <cstdlib>

namespace {

alignas(4096) unsigned char bytes[4096] = {0xc3};

struct Runs {
  Runs() {
    void* fresh = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const bool refused =
        fresh == MAP_FAILED && ::mprotect(bytes, sizeof bytes, PROT_READ | PROT_EXEC) != 0;
    if (!refused) std::_Exit(3);
  }
} runs;

}  // namespace
