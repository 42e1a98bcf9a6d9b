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
  // Avoids warnings about parameters that are not used yet.
  (void)parameters, (void)recipe, (void)saved_per_sample, (void)batch;
  throw NotImplemented("model_memory");
  // <<< your code
}

}  // namespace lockstep::plan
