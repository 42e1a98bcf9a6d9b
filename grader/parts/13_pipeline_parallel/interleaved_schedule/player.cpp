// Plays interleaved_schedule: the lists of the stages.
#include "engine/parallel/pipeline/interleaved_schedule.hpp"

#include "grader/play/schedule_play.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_schedules(played, [](int stage, const ScheduleQuestion& question) {
    return pipeline::interleaved(stage, question.stages, question.chunks, question.micro_batches);
  });
}

}  // namespace lockstep::grader
