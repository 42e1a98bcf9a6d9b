// Plays training_time: an estimate of each question.
#include "grader/parts/01_why_distribute/training_time/case.hpp"

#include "grader/play/function_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_or_refuse_each<TimeQuestion>(played, [](const TimeQuestion& q) {
    return q.form == TimeForm::measured ? plan::training_time(q.measured, q.ranks)
                                        : plan::training_time(q.counted, q.device, q.ranks);
  });
}

}  // namespace lockstep::grader
