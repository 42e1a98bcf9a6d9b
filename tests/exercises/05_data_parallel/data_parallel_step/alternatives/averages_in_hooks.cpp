// The reduction of each gradient is started by a hook while backward still runs.
#include "engine/parallel/data_parallel/data_parallel_step.hpp"

namespace lockstep::data_parallel {

double data_parallel_step(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer& optimizer,
                          const data::Batch& mine, double clip_norm) {
  std::vector<comm::Work> works;
  const auto parameters = model.parameters();
  for (Parameter* parameter : parameters) {
    parameter->hooks.emplace_back([&](Parameter& ready) {
      ready.grad.scale_(1.0 / group.size());
      works.push_back(group.all_reduce_async(ready.grad.view({ready.grad.numel()}), ReduceOp::sum));
    });
  }
  optimizer.zero_grad();
  Tape tape(GradMode::record);
  const Value output = model.forward(tape, tape.constant(mine.inputs));
  const Value loss = autograd::cross_entropy(tape, output, mine.labels);
  tape.backward(loss);
  for (comm::Work& work : works) work.wait();
  for (Parameter* parameter : parameters) parameter->hooks.pop_back();
  if (clip_norm > 0) optim::clip_grad_norm(parameters, clip_norm);
  optimizer.step();
  return loss.tensor.item();
}

}  // namespace lockstep::data_parallel
