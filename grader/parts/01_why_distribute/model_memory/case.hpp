// The case format of model_memory, shared by adapter and exam.
#pragma once

#include <vector>

#include "engine/plan/model_memory.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct MemoryQuestion {
  std::int64_t parameters = 0;
  plan::Recipe recipe;
  std::vector<std::int64_t> saved_per_sample;
  std::int64_t batch = 0;
};

template <typename Archive>
void fields(Archive& archive, MemoryQuestion& q) {
  archive(q.parameters, q.recipe.rule, q.recipe.precision, q.saved_per_sample, q.batch);
}

}  // namespace lockstep::grader

namespace lockstep::plan {

template <typename Archive>
void fields(Archive& archive, MemoryReport& r) {
  archive(r.weights, r.gradients, r.master_weights, r.optimizer_state, r.activations, r.total);
}

}  // namespace lockstep::plan
