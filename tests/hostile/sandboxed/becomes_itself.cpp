// exercise: scale_learning_rate
// verdict: time
// says:
// then: the reference
// Starts itself again without an end.
#include <unistd.h>

namespace {
[[maybe_unused]] const int again = ::execl("/player", "/player", nullptr);
}  // namespace
