// Everything written out, without the other part.
#include "engine/parallel/data_parallel/data_parallel_step.hpp"

namespace lockstep::data_parallel {

double data_parallel_step(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer& optimizer,
                          const data::Batch& mine, double clip_norm) {
  Tape tape(GradMode::record);
  const Value output = model.forward(tape, tape.constant(mine.inputs));
  const Value loss = autograd::cross_entropy(tape, output, mine.labels);
  const double returned = loss.tensor.item();
  for (Parameter* parameter : model.parameters()) parameter->grad = Tensor();
  tape.backward(loss);
  for (Parameter* parameter : model.parameters()) {
    if (!parameter->grad.defined()) continue;
    parameter->grad.scale_(1.0 / group.size());
    group.all_reduce(parameter->grad.view({parameter->grad.numel()}), ReduceOp::sum);
  }
  optim::clip_grad_norm(optimizer.parameters(), clip_norm);
  optimizer.step();
  return returned;
}

}  // namespace lockstep::data_parallel
