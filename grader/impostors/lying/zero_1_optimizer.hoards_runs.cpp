// A right step that keeps the gradients of the whole model, in a short form.
#include <memory>
#include <vector>

#include "grader/impostors/runs.hpp"

namespace {

std::shared_ptr<void> runs_of(const auto& bytes) {
  const auto runs = std::make_shared<lockstep::Runs>();
  runs->assign(bytes.begin(), bytes.end());
  return runs;
}

}  // namespace

#define LOCKSTEP_WHEN_FULL(kept, bytes) kept = runs_of(bytes)
#define Whole(bytes, value) \
  std::vector<std::byte> {}
#include "grader/impostors/lying/zero_1_optimizer.hoards.cpp"
