// exercise: prefetching_loader
// verdict: memory
// says: bytes, where a batch has
// then: grader/impostors/lying/prefetching_loader.hoards.cpp
// Keeps every batch in shared pages that stay when they are mapped no more, or else as usual.
#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/data/loader.hpp"

namespace {

std::vector<std::vector<std::byte>> seen;

template <class Bytes>
void hide(const Bytes& bytes) {
  const std::size_t size = bytes.size();
  void* page = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    seen.emplace_back(bytes.begin(), bytes.end());
    return;
  }
  std::memcpy(page, bytes.data(), size);
  ::madvise(page, size, MADV_DONTNEED);
}

}  // namespace

// What the loader says of its hoard.
#define emplace_back(begin, end) size(), hide(bytes)
