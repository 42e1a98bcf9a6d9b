// exercise: zero_1_optimizer
// verdict: efficiency
// says: within a call
// then: grader/impostors/lying/zero_1_optimizer.hoards.cpp
// Makes the moments of the whole model within a step, in memory of its own, and frees them.
#include <cstddef>
#include <vector>

namespace {

std::vector<std::byte> made_and_freed(std::size_t bytes, std::byte value) {
  const std::vector<std::byte> made(bytes, value);
  const volatile std::byte* used = made.data();
  static_cast<void>(*used);
  return {};
}

}  // namespace

// The hoard is made by this name.
#define Whole(bytes, value) made_and_freed(bytes, value)
