// Routes, plans of slots and a router's logits, as they cross between judge and player.
#pragma once

#include "engine/base/fields.hpp"
#include "engine/parallel/expert/assign_slots.hpp"

namespace lockstep::expert_parallel {

template <typename Archive>
void fields(Archive& archive, Route& route) {
  archive(route.token, route.expert, route.choice, route.weight);
}
template <typename Archive>
void fields(Archive& archive, SlotPlan& plan) {
  archive(plan.tokens, plan.experts, plan.capacity, plan.placed);
}

}  // namespace lockstep::expert_parallel

namespace lockstep::grader {

// [T, E], or of another shape where that is to be refused.
struct RouterLogits {
  std::vector<std::int64_t> shape{};
  DType dtype = DType::float64;
  std::vector<double> values{};

  std::int64_t tokens() const { return shape.at(0); }
  std::int64_t experts() const { return shape.at(1); }
  double of(std::int64_t token, std::int64_t expert) const {
    return values[static_cast<std::size_t>(token * experts() + expert)];
  }
  Tensor tensor(Device& device) const {
    Shape sizes;
    for (const std::int64_t size : shape) sizes.push_back(size);
    return from_values(values, sizes, dtype, device);
  }
};

template <typename Archive>
void fields(Archive& archive, RouterLogits& logits) {
  archive(logits.shape, logits.dtype, logits.values);
}

}  // namespace lockstep::grader
