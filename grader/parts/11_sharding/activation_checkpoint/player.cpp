// Plays activation_checkpoint: trains the exam's model, whose segments the part runs and whose
// masks the judge has.
#include "engine/autograd/activation_checkpoint.hpp"

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
          return autograd::recompute(tape, x, body);
        },
        [&](const SegmentCall& call) { return ask<SegmentAnswer>(played.port, call); });
    CheckpointAnswer answer = model.train();
    device.require_intact();
    return answer;
  });
}

}  // namespace lockstep::grader
