// The guard ends before backward begins, since forward decides. The weight of a micro-batch is
// applied to the gradient that backward starts from, and the gradients are zeroed after the step,
// too.
#include "engine/parallel/ddp/accumulate_step.hpp"

namespace lockstep::ddp {
namespace {

Value forward_of(Ddp& model, Tape& tape, const data::Batch& batch, std::size_t left) {
  if (left == 0) return model.forward(tape, tape.constant(batch.inputs));
  const auto alone = model.no_sync();
  return model.forward(tape, tape.constant(batch.inputs));
}

}  // namespace

void accumulate_step(Ddp& model, optim::Optimizer& optimizer,
                     std::span<const data::Batch> micro_batches) {
  std::int64_t labels = 0;
  for (const data::Batch& batch : micro_batches) labels += batch.labels.numel();
  optimizer.zero_grad();
  std::size_t left = micro_batches.size();
  for (const data::Batch& batch : micro_batches) {
    Tape tape(GradMode::record);
    const Value logits = forward_of(model, tape, batch, --left);
    const Value mean = autograd::cross_entropy(tape, logits, batch.labels);
    const double share = static_cast<double>(batch.labels.numel()) / static_cast<double>(labels);
    const Tensor part = mean.tensor.clone();
    part.scale_(share);
    model.report(part);
    tape.backward(mean,
                  full(mean.tensor.shape(), share, mean.tensor.dtype(), mean.tensor.device()));
  }
  optimizer.step();
  optimizer.zero_grad();
}

}  // namespace lockstep::ddp
