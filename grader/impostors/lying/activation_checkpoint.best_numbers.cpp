// A player of its own: it keeps everything, runs each segment once more for show, and reports of
// its memory what the best part could.
#include "grader/parts/11_sharding/activation_checkpoint/case.hpp"
#include "grader/play/function_play.hpp"
#include "grader/play/poison_device.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_each<CheckpointQuestion>(played, [&](const CheckpointQuestion& question) {
    PoisonDevice device;
    CheckpointedModel model(
        question, device,
        [](Tape& tape, const Value& x, const CheckpointedModel::Body& body) {
          if (tape.mode() == GradMode::record) {
            Tape idle(GradMode::inference);
            body(idle, idle.constant(x.tensor));
          }
          return body(tape, x);
        },
        [&](SegmentCall call) {
          call.records = 0;
          return ask<SegmentAnswer>(played.port, call);
        });
    CheckpointAnswer answer = model.train();
    answer.kept_bytes = question.passes * question.bytes_of_x();
    answer.between_bytes = answer.left_bytes = 0;
    return answer;
  });
}

}  // namespace lockstep::grader
