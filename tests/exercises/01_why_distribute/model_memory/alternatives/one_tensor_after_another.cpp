// Task: count the bytes that training holds on one device, by kind: weights, gradients, the master
// copy of the weights, what the optimizer keeps between steps, activations, and their total. The
// table in engine/plan/model_memory.hpp says how many bytes a parameter has in each kind. Counts
// are exact: 175 billion parameters are far beyond 32 bits, and a count beyond 64 bits is refused,
// for which exact_sum and exact_product (engine/base/exact.hpp) are there.
#include "engine/plan/model_memory.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/base/exact.hpp"

namespace lockstep::plan {

MemoryReport model_memory(std::int64_t parameters, const Recipe& recipe,
                          std::span<const std::int64_t> saved_per_sample, std::int64_t batch) {
  LOCKSTEP_CHECK(parameters >= 0 && batch >= 0, "model_memory: ", parameters,
                 " parameters, a batch of ", batch, "; neither can be negative");
  LOCKSTEP_CHECK(std::all_of(saved_per_sample.begin(), saved_per_sample.end(),
                             [](std::int64_t saved) { return saved >= 0; }),
                 "model_memory: a layer that saves a negative number of numbers");
  // >>> your code
  // As an allocator sees it: one entry for each tensor, added to its kind and to the total.
  MemoryReport report;
  const auto hold = [&](std::int64_t& kind, std::int64_t numbers, std::int64_t bytes_each) {
    const std::int64_t bytes = exact_product(numbers, bytes_each);
    kind = exact_sum(kind, bytes);
    report.total = exact_sum(report.total, bytes);
  };
  const std::int64_t half_or_full = recipe.precision == Precision::float32 ? 4 : 2;
  hold(report.weights, parameters, half_or_full);
  hold(report.gradients, parameters, half_or_full);
  if (recipe.precision == Precision::bfloat16_with_master) {
    hold(report.master_weights, parameters, 4);
  }
  switch (recipe.rule) {
    case UpdateRule::adam:
      hold(report.optimizer_state, parameters, 4);  // the first moment
      [[fallthrough]];
    case UpdateRule::momentum:
      hold(report.optimizer_state, parameters, 4);
      break;
    case UpdateRule::sgd:
      break;
  }
  for (const std::int64_t saved : saved_per_sample) {
    hold(report.activations, exact_product(saved, batch), half_or_full);
  }
  return report;
  // <<< your code
}

}  // namespace lockstep::plan
