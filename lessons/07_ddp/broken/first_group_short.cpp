// Wrong on purpose: i % k chooses the pass that is reduced and the update, and is 0 for the first
// micro-batch instead of the last. So each update contains one micro-batch, and the gradients of
// the others are zeroed before they are used.
#include <optional>

#include "engine/parallel/ddp/accumulate_step.hpp"

namespace lockstep::ddp {

void accumulate_step(Ddp& model, optim::Optimizer& optimizer,
                     std::span<const data::Batch> micro_batches) {
  const std::size_t k = micro_batches.size();
  optimizer.zero_grad();
  for (std::size_t i = 0; i < k; ++i) {
    std::optional<Ddp::NoSync> alone;
    if (i % k != 0) alone.emplace(model);
    Tape tape(GradMode::record);
    const Value logits = model.forward(tape, tape.constant(micro_batches[i].inputs));
    const Value mean = autograd::cross_entropy(tape, logits, micro_batches[i].labels);
    const Value loss = autograd::scale(tape, mean, 1.0 / static_cast<double>(k));
    if (i % k == 0) model.report(mean.tensor);
    tape.backward(loss);
    if (i % k == 0) optimizer.step();
  }
}

}  // namespace lockstep::ddp
