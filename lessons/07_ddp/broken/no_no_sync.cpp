// Wrong on purpose: every micro-batch passes outside no_sync, so gradients travel after each one.
// The order of sums and means does not matter, so the update is right. Only the traffic grows.
#include "engine/parallel/ddp/accumulate_step.hpp"

namespace lockstep::ddp {

void accumulate_step(Ddp& model, optim::Optimizer& optimizer,
                     std::span<const data::Batch> micro_batches) {
  std::int64_t labels = 0;
  for (const data::Batch& batch : micro_batches) labels += batch.labels.numel();
  optimizer.zero_grad();
  for (const data::Batch& batch : micro_batches) {
    Tape tape(GradMode::record);
    const Value logits = model.forward(tape, tape.constant(batch.inputs));
    const Value mean = autograd::cross_entropy(tape, logits, batch.labels);
    const double share = static_cast<double>(batch.labels.numel()) / static_cast<double>(labels);
    const Value loss = autograd::scale(tape, mean, share);
    model.report(loss.tensor);
    tape.backward(loss);
  }
  optimizer.step();
}

}  // namespace lockstep::ddp
