// Each rank takes a block of neighbouring samples; losses are summed by the loss function.
#include "engine/base/error.hpp"
#include "engine/tensor/ops.hpp"
#include "engine/train/evaluate.hpp"

namespace lockstep::train {

Evaluation evaluate(comm::ProcessGroup& group, nn::Module& model, const data::Dataset& dataset) {
  LOCKSTEP_CHECK(dataset.size() > 0, "evaluate: the dataset is empty");
  model.prepare({});
  const Tensor& weight = model.parameters()[0]->value;
  const std::int64_t block = (dataset.size() + group.size() - 1) / group.size();
  const std::int64_t begin = std::min(dataset.size(), group.rank() * block);
  const std::int64_t end = std::min(dataset.size(), begin + block);
  double loss = 0;
  std::int64_t hits = 0, labels = 0;
  for (std::int64_t at = begin; at < end;) {
    std::vector<std::int64_t> indices;
    while (at < end && std::ssize(indices) < samples_at_once(dataset)) indices.push_back(at++);
    const data::Batch batch = dataset.batch(indices, weight.dtype(), weight.device());
    Tape tape(GradMode::inference);
    const Tensor logits = model.forward(tape, tape.constant(batch.inputs)).tensor;
    loss +=
        ops::cross_entropy(logits, batch.labels, {.reduction = ops::Reduction::sum}).loss.item();
    hits += ops::count_correct(logits, batch.labels);
    labels += batch.labels.numel();
  }
  const std::vector<double> mine{loss, static_cast<double>(hits), static_cast<double>(labels)};
  const Tensor sums = from_values(mine, {3}, DType::float64, weight.device());
  group.all_reduce(sums, ReduceOp::sum);
  return {sums.item(0) / sums.item(2), sums.item(1) / sums.item(2)};
}

}  // namespace lockstep::train
