// Plays one_f_one_b_schedule: the lists of the stages.
#include "engine/parallel/pipeline/one_f_one_b_schedule.hpp"

#include "grader/play/schedule_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_schedules(played, [](int stage, const ScheduleQuestion& question) {
    return pipeline::one_f_one_b(stage, question.stages, question.micro_batches);
  });
}

}  // namespace lockstep::grader
