// exercise: scale_learning_rate
// verdict: time
// says:
// then: the reference
// Executes itself again, endlessly.
#include <unistd.h>

namespace {
[[maybe_unused]] const int again = ::execl("/player", "/player", nullptr);
}  // namespace
