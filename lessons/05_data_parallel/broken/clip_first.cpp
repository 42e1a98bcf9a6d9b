// Wrong on purpose: each rank bounds the norm of its own gradient, and then they are averaged. The
// mean of N short vectors that disagree is shorter than the bound, so the model moves too little.
#include "engine/parallel/data_parallel/average_gradients.hpp"
#include "engine/parallel/data_parallel/data_parallel_step.hpp"

namespace lockstep::data_parallel {

double data_parallel_step(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer& optimizer,
                          const data::Batch& mine, double clip_norm) {
  optimizer.zero_grad();
  Tape tape(GradMode::record);
  const Value logits = model.forward(tape, tape.constant(mine.inputs));
  const Value loss = autograd::cross_entropy(tape, logits, mine.labels);
  tape.backward(loss);

  const std::vector<Parameter*> parameters = model.parameters();
  if (clip_norm > 0) optim::clip_grad_norm(parameters, clip_norm);  // before the average
  average_gradients(group, parameters);
  optimizer.step();
  return loss.tensor.item();
}

}  // namespace lockstep::data_parallel
