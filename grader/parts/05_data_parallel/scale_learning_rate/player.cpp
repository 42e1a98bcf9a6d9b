// Plays scale_learning_rate: the rate of each question.
#include "grader/parts/05_data_parallel/scale_learning_rate/case.hpp"

#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_or_refuse_each<RateQuestion>(
      played, [](const RateQuestion& q) { return optim::lr_at(q.step, q.rate); });
}

}  // namespace lockstep::grader
