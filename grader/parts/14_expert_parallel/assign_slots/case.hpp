// The case format of assign_slots, shared by adapter and exam. The answer is a plan.
#pragma once

#include "grader/play/expert_routes.hpp"

namespace lockstep::grader {

struct SlotQuestion {
  std::vector<expert_parallel::Route> routes{};
  std::int64_t experts = 1;
  double capacity_factor = 1;
};

template <typename Archive>
void fields(Archive& archive, SlotQuestion& question) {
  archive(question.routes, question.experts, question.capacity_factor);
}

}  // namespace lockstep::grader
