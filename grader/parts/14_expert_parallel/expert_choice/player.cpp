// Plays expert_choice: a plan for the logits of each question.
#include "engine/parallel/expert/expert_choice.hpp"

#include "grader/parts/14_expert_parallel/expert_choice/case.hpp"
#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_or_refuse_each<ChoiceQuestion>(played, [](const ChoiceQuestion& q) {
    CpuDevice device;
    const Tensor logits = q.logits.tensor(device);
    ChoiceAnswer answer;
    answer.ending = ending_of<Error>(
        [&] { answer.plan = expert_parallel::expert_choice(logits, q.capacity_factor); });
    if (answer.ending.type == "ContractError") throw ContractError(answer.ending.what);
    return answer;
  });
}

}  // namespace lockstep::grader
