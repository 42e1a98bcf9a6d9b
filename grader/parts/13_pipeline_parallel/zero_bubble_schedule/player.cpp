// Plays zero_bubble_schedule: the lists of the stages.
#include "engine/parallel/pipeline/zero_bubble_schedule.hpp"

#include "grader/play/schedule_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_schedules(played, [](int stage, const ScheduleQuestion& question) {
    return pipeline::zero_bubble(stage, question.stages, question.micro_batches);
  });
}

}  // namespace lockstep::grader
