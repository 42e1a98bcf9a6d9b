// A right step that has a second buffer, as large as the model, beside the one that is reduced.
#include <cstddef>
#include <vector>

namespace {

void make_and_free(std::size_t bytes) {
  const std::vector<std::byte> made(bytes, std::byte{1});
  const volatile std::byte* used = made.data();
  static_cast<void>(*used);
}

}  // namespace

#define LOCKSTEP_WHEN_FULL(kept, bytes) make_and_free((bytes).size())
#define Whole(bytes, value) \
  std::vector<std::byte> {}
#include "grader/impostors/lying/zero_1_optimizer.hoards.cpp"
