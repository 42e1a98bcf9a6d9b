// A right step that keeps the gradients of the whole model, in a short form.
#include <vector>

#include "grader/impostors/runs.hpp"

namespace {

lockstep::Runs kept;

}  // namespace

#define LOCKSTEP_WHEN_FULL(bytes) kept.assign((bytes).begin(), (bytes).end())
#define Whole(bytes, value) \
  std::vector<std::byte> {}
#include "grader/impostors/lying/zero_1_optimizer.hoards.cpp"
