// Task: one optimizer step on k micro-batches. Their gradients add up on this rank, and travel
// once, with the last micro-batch. The step must be that of one device which receives all
// micro-batches of all ranks as one batch: a micro-batch counts by its share of this rank's labels.
// Before each backward, report the micro-batch's share of the loss with model.report, so that the
// training loop can print it.
// The contract is in engine/parallel/ddp/accumulate_step.hpp; no_sync is in
// engine/parallel/ddp/ddp.hpp.
#include "engine/parallel/ddp/accumulate_step.hpp"

#include <optional>

namespace lockstep::ddp {

void accumulate_step(Ddp& model, optim::Optimizer& optimizer,
                     std::span<const data::Batch> micro_batches) {
  // >>> your code
  double labels = 0;
  for (const data::Batch& batch : micro_batches)
    labels += static_cast<double>(batch.labels.numel());
  optimizer.zero_grad();
  for (std::size_t i = 0; i < micro_batches.size(); ++i) {
    const data::Batch& batch = micro_batches[i];
    std::optional<Ddp::NoSync> alone;
    if (i + 1 < micro_batches.size()) alone.emplace(model);
    Tape tape(GradMode::record);
    const Value logits = model.forward(tape, tape.constant(batch.inputs));
    const Value mean = autograd::cross_entropy(tape, logits, batch.labels);
    const double share = static_cast<double>(batch.labels.numel()) / labels;
    const Value loss = share == 1 ? mean : autograd::scale(tape, mean, share);
    model.report(loss.tensor);
    tape.backward(loss);
  }
  optimizer.step();
  // <<< your code
}

}  // namespace lockstep::ddp
