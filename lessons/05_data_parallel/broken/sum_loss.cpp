// Wrong on purpose: the loss is the sum over the rank's samples, not their mean. The gradient is B
// times that of the mean, and so is the step.
#include "engine/parallel/data_parallel/average_gradients.hpp"
#include "engine/parallel/data_parallel/data_parallel_step.hpp"

namespace lockstep::data_parallel {

double data_parallel_step(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer& optimizer,
                          const data::Batch& mine, double clip_norm) {
  optimizer.zero_grad();
  Tape tape(GradMode::record);
  const Value logits = model.forward(tape, tape.constant(mine.inputs));
  const Value mean = autograd::cross_entropy(tape, logits, mine.labels);
  const double samples = static_cast<double>(mine.inputs.size(0));
  const Value sum = autograd::scale(tape, mean, samples);  // "loss = criterion(…).sum()"
  tape.backward(sum);

  const std::vector<Parameter*> parameters = model.parameters();
  average_gradients(group, parameters);
  if (clip_norm > 0) optim::clip_grad_norm(parameters, clip_norm);
  optimizer.step();
  return mean.tensor.item();
}

}  // namespace lockstep::data_parallel
