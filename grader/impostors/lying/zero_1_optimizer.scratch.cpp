// The hoarding impostor, with a hoard that is gone when the step is over: neither the device's
// account nor a look between two steps knows of it.
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
#include "grader/impostors/lying/zero_1_optimizer.hoards.cpp"
