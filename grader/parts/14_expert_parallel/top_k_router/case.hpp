// The case format of top_k_router, shared by adapter and exam.
#pragma once

#include "grader/play/ending.hpp"
#include "grader/play/expert_routes.hpp"

namespace lockstep::grader {

struct RouteQuestion {
  RouterLogits logits{};
  std::int64_t k = 1;
};
struct RouteAnswer {
  Ending ending{};  // of a call that ended in an Error that is no ContractError
  std::vector<expert_parallel::Route> routes{};
};

template <typename Archive>
void fields(Archive& archive, RouteQuestion& question) {
  archive(question.logits, question.k);
}
template <typename Archive>
void fields(Archive& archive, RouteAnswer& answer) {
  archive(answer.ending, answer.routes);
}

}  // namespace lockstep::grader
