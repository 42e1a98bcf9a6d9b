// Task: one training step of a replica. Zero the old gradients, run the model forward on this
// rank's samples and backward from the mean cross-entropy loss, average the gradients over the
// group, bound their norm, and update. Ten such steps on N ranks must lead where one device leads
// that receives all samples as one batch, for every optimizer: think about which pieces must see
// the averaged gradient. Returns this rank's loss before the update.
// The contract stands in engine/parallel/data_parallel/data_parallel_step.hpp.
#include "engine/parallel/data_parallel/data_parallel_step.hpp"

#include "engine/parallel/data_parallel/average_gradients.hpp"

namespace lockstep::data_parallel {

double data_parallel_step(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer& optimizer,
                          const data::Batch& mine, double clip_norm) {
  // >>> your code
  optimizer.zero_grad();

  Tape tape(GradMode::record);
  const Value logits = model.forward(tape, tape.constant(mine.inputs));
  const Value loss = autograd::cross_entropy(tape, logits, mine.labels);
  tape.backward(loss);

  const std::vector<Parameter*> parameters = model.parameters();
  average_gradients(group, parameters);
  if (clip_norm > 0) optim::clip_grad_norm(parameters, clip_norm);
  optimizer.step();
  return number_of(loss.tensor);
  // <<< your code
}

}  // namespace lockstep::data_parallel
