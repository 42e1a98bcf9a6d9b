// Plays gpipe_schedule: the lists of the stages.
#include "engine/parallel/pipeline/gpipe_schedule.hpp"

#include "grader/play/schedule_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_schedules(played, [](int stage, const ScheduleQuestion& question) {
    return pipeline::gpipe(stage, question.stages, question.micro_batches);
  });
}

}  // namespace lockstep::grader
