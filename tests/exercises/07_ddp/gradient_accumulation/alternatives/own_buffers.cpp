// Buffers of its own: each micro-batch's gradients are moved there and added up, and put back as
// grads before the one pass that is reduced.
#include "engine/parallel/ddp/accumulate_step.hpp"

namespace lockstep::ddp {
namespace {

struct Sums {
  explicit Sums(Ddp& model) : parameters(model.parameters()), sums(parameters.size()) {}

  void take() {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      Tensor& grad = parameters[i]->grad;
      if (!grad.defined()) continue;
      if (sums[i].defined()) {
        sums[i].reduce_(grad, ReduceOp::sum);
      } else {
        sums[i] = grad.clone(MemoryKind::gradients);
      }
      grad = {};
    }
  }
  void put_back() {
    for (std::size_t i = 0; i < sums.size(); ++i) parameters[i]->grad = sums[i];
  }

  std::vector<Parameter*> parameters;
  std::vector<Tensor> sums;
};

void pass(Ddp& model, const data::Batch& batch, double share) {
  Tape tape(GradMode::record);
  const Value logits = model.forward(tape, tape.constant(batch.inputs));
  const Value loss =
      autograd::scale(tape, autograd::cross_entropy(tape, logits, batch.labels), share);
  model.report(loss.tensor);
  tape.backward(loss);
}

}  // namespace

void accumulate_step(Ddp& model, optim::Optimizer& optimizer,
                     std::span<const data::Batch> micro_batches) {
  std::int64_t labels = 0;
  for (const data::Batch& batch : micro_batches) labels += batch.labels.numel();
  const auto share = [&](const data::Batch& batch) {
    return static_cast<double>(batch.labels.numel()) / static_cast<double>(labels);
  };
  Sums sums(model);
  optimizer.zero_grad();
  {
    const auto alone = model.no_sync();
    for (const data::Batch& batch : micro_batches.first(micro_batches.size() - 1)) {
      pass(model, batch, share(batch));
      sums.take();
    }
  }
  sums.put_back();
  pass(model, micro_batches.back(), share(micro_batches.back()));
  optimizer.step();
}

}  // namespace lockstep::ddp
