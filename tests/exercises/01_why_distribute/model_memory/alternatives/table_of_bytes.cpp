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
  // One row for each precision, then the numbers that each rule keeps.
  struct Row {
    std::int64_t weight, gradient, master;
  };
  static constexpr Row rows[] = {{4, 4, 0}, {2, 2, 4}, {2, 2, 0}};
  static constexpr std::int64_t kept[] = {0, 1, 2};
  const Row& row = rows[static_cast<std::size_t>(recipe.precision)];
  MemoryReport r;
  r.weights = exact_product(row.weight, parameters);
  r.gradients = exact_product(row.gradient, parameters);
  r.master_weights = exact_product(row.master, parameters);
  r.optimizer_state = exact_product(4 * kept[static_cast<std::size_t>(recipe.rule)], parameters);
  for (const std::int64_t saved : saved_per_sample) {
    r.activations =
        exact_sum(r.activations, exact_product(exact_product(saved, row.weight), batch));
  }
  r.total = exact_sum(exact_sum(exact_sum(r.weights, r.gradients), r.master_weights),
                      exact_sum(r.optimizer_state, r.activations));
  return r;
  // <<< your code
}

}  // namespace lockstep::plan
