// Task: loss and accuracy of a whole dataset, computed by all ranks together: exactly one device's
// numbers, for every number of ranks. The ranks share the samples, evaluate each sample once, and
// exchange sums in one all-reduce. Some ranks may have one sample less than others, or none at all.
// Evaluation needs no gradients, so record nothing for them.
// The contract stands in engine/train/evaluate.hpp.
#include "engine/train/evaluate.hpp"

#include <array>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/tensor/ops.hpp"

namespace lockstep::train {

Evaluation evaluate(comm::ProcessGroup& group, nn::Module& model, const data::Dataset& dataset) {
  LOCKSTEP_CHECK(dataset.size() > 0, "evaluate: the dataset is empty; a mean needs a sample");
  // >>> your code
  const Tensor& any = model.parameters().front()->value;
  model.prepare({.mode = nn::Mode::evaluation});
  const std::int64_t stride = group.size(), chunk = samples_at_once(dataset) * stride;
  std::array<double, 3> sums{};  // of losses, hits, labels
  for (std::int64_t first = group.rank(); first < dataset.size(); first += chunk) {
    std::vector<std::int64_t> indices;
    const std::int64_t end = std::min(dataset.size(), first + chunk);
    for (std::int64_t i = first; i < end; i += stride) indices.push_back(i);

    const data::Batch batch = dataset.batch(indices, any.dtype(), any.device());
    Tape tape(GradMode::inference);
    const Tensor logits = model.forward(tape, tape.constant(batch.inputs)).tensor;
    const auto labels = static_cast<double>(batch.labels.numel());
    sums[0] += number_of(ops::cross_entropy(logits, batch.labels).loss) * labels;
    sums[1] += static_cast<double>(ops::count_correct(logits, batch.labels));
    sums[2] += labels;
  }
  const Tensor all = from_values(sums, {3}, DType::float64, any.device().host());
  group.all_reduce(all, ReduceOp::sum);
  return {all.item(0) / all.item(2), all.item(1) / all.item(2)};
  // <<< your code
}

}  // namespace lockstep::train
