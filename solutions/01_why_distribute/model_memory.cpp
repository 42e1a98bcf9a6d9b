// Task: count the bytes that training takes on one device, by kind: weights, gradients, the master
// copy of the weights, optimizer state, activations, and their total. The table in
// engine/plan/model_memory.hpp gives the bytes per parameter of each kind. Counts are exact: 175
// billion parameters do not fit into 32 bits, and a count beyond 64 bits is refused. exact_sum and
// exact_product (engine/base/exact.hpp) do both.
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
  const std::int64_t bytes_of_weight = recipe.precision == Precision::float32 ? 4 : 2;
  const std::int64_t bytes_of_master = recipe.precision == Precision::bfloat16_with_master ? 4 : 0;
  std::int64_t numbers_kept = 0;
  if (recipe.rule == UpdateRule::momentum) numbers_kept = 1;
  if (recipe.rule == UpdateRule::adam) numbers_kept = 2;

  MemoryReport report;
  report.weights = exact_product(parameters, bytes_of_weight);
  report.gradients = exact_product(parameters, bytes_of_weight);
  report.master_weights = exact_product(parameters, bytes_of_master);
  report.optimizer_state = exact_product(parameters, 4 * numbers_kept);

  std::int64_t saved = 0;  // numbers, for one sample
  for (const std::int64_t of_layer : saved_per_sample) saved = exact_sum(saved, of_layer);
  report.activations = exact_product(exact_product(saved, batch), bytes_of_weight);

  for (const std::int64_t bytes : {report.weights, report.gradients, report.master_weights,
                                   report.optimizer_state, report.activations}) {
    report.total = exact_sum(report.total, bytes);
  }
  return report;
  // <<< your code
}

}  // namespace lockstep::plan
