// Plays top_k_router: the routes of the logits of each question.
#include "grader/parts/14_expert_parallel/top_k_router/case.hpp"
#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_or_refuse_each<RouteQuestion>(played, [](const RouteQuestion& q) {
    CpuDevice device;
    const Tensor logits = q.logits.tensor(device);
    RouteAnswer answer;
    answer.ending = ending_of<Error>([&] { answer.routes = expert_parallel::route(logits, q.k); });
    if (answer.ending.type == "ContractError") throw ContractError(answer.ending.what);
    return answer;
  });
}

}  // namespace lockstep::grader
