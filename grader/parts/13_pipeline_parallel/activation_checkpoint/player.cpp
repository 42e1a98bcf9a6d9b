// Plays activation_checkpoint: trains the exam's model, whose segments the part runs.
#include "engine/autograd/activation_checkpoint.hpp"

#include "grader/parts/13_pipeline_parallel/activation_checkpoint/case.hpp"
#include "grader/play/function_play.hpp"
#include "grader/play/poison_device.hpp"

namespace lockstep::grader {

Bytes play(sim::PlayerCase& played) {
  return answer_each<CheckpointQuestion>(played, [](const CheckpointQuestion& question) {
    PoisonDevice device;
    CheckpointedModel model(question, device,
                            [](Tape& tape, const Value& x, const CheckpointedModel::Body& body) {
                              return autograd::recompute(tape, x, body);
                            });
    return model.train();
  });
}

}  // namespace lockstep::grader
