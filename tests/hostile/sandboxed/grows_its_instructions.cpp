// exercise: scale_learning_rate
// verdict: pass
// says:
// then: the reference
// Grows the last page of its instructions, so that the data behind it in the file can be run.
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

extern "C" const char etext;

namespace {

struct Grows {
  Grows() {
    constexpr std::uintptr_t page = 4096;
    const std::uintptr_t last = (reinterpret_cast<std::uintptr_t>(&etext) - 1) / page * page;
    void* grown = ::mremap(reinterpret_cast<void*>(last), page, 2 * page, MREMAP_MAYMOVE);
    if (grown != MAP_FAILED) std::_Exit(3);
  }
} grows;

}  // namespace
