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
  // Counts in 128 bits, where nothing of this overflows, and looks at the results once.
  __extension__ using Wide = __int128;
  Wide weight = 2, master = 0, kept = 2;
  if (recipe.precision == Precision::float32) weight = 4;
  if (recipe.precision == Precision::bfloat16_with_master) master = 4;
  if (recipe.rule == UpdateRule::sgd) kept = 0;
  if (recipe.rule == UpdateRule::momentum) kept = 1;
  Wide saved = 0;
  for (const std::int64_t of_layer : saved_per_sample) saved += of_layer;
  const Wide model = parameters;
  const Wide activations = saved * batch * weight;
  const Wide total = model * (2 * weight + master + 4 * kept) + activations;
  LOCKSTEP_CHECK(saved <= INT64_MAX && total <= INT64_MAX,
                 "model_memory: more bytes than 64 bits can count");
  const auto narrow = [](Wide bytes) { return static_cast<std::int64_t>(bytes); };
  return {narrow(model * weight),   narrow(model * weight), narrow(model * master),
          narrow(model * 4 * kept), narrow(activations),    narrow(total)};
  // <<< your code
}

}  // namespace lockstep::plan
