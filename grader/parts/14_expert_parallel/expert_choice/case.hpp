// The case format of expert_choice, shared by adapter and exam.
#pragma once

#include "grader/play/ending.hpp"
#include "grader/play/expert_routes.hpp"

namespace lockstep::grader {

struct ChoiceQuestion {
  RouterLogits logits{};
  double capacity_factor = 1;
};
struct ChoiceAnswer {
  Ending ending{};  // of a call that ended in an Error that is no ContractError
  expert_parallel::SlotPlan plan{};
};

template <typename Archive>
void fields(Archive& archive, ChoiceQuestion& question) {
  archive(question.logits, question.capacity_factor);
}
template <typename Archive>
void fields(Archive& archive, ChoiceAnswer& answer) {
  archive(answer.ending, answer.plan);
}

}  // namespace lockstep::grader
