// Every rank reads equally many samples, as a padding sampler would have it, and those that stand
// beyond the end of the dataset get a label that is ignored. The count needs no message: every rank
// knows the size.
#include "engine/base/error.hpp"
#include "engine/tensor/ops.hpp"
#include "engine/train/evaluate.hpp"

namespace lockstep::train {

Evaluation evaluate(comm::ProcessGroup& group, nn::Module& model, const data::Dataset& dataset) {
  LOCKSTEP_CHECK(dataset.size() > 0, "evaluate: the dataset is empty");
  model.prepare({.mode = nn::Mode::evaluation});
  const Tensor any = model.parameters().front()->value;
  const std::int64_t each = (dataset.size() + group.size() - 1) / group.size();
  const ops::CrossEntropyOptions sum{.reduction = ops::Reduction::sum, .ignored_label = -1};
  double loss = 0, hits = 0;
  for (std::int64_t k = 0; k < each; k += samples_at_once(dataset)) {
    std::vector<std::int64_t> indices, places;
    for (std::int64_t j = k; j < std::min(each, k + samples_at_once(dataset)); ++j) {
      places.push_back(group.rank() + j * group.size());
      indices.push_back(places.back() % dataset.size());
    }
    const data::Batch batch = dataset.batch(indices, any.dtype(), any.device());
    auto labels = batch.labels.data<std::int64_t>();
    for (std::size_t j = 0; j < labels.size(); ++j) {
      const std::size_t sample = j / static_cast<std::size_t>(dataset.labels());
      if (places[sample] >= dataset.size()) labels[j] = -1;
    }
    Tape tape(GradMode::inference);
    const Tensor logits = model.forward(tape, tape.constant(batch.inputs)).tensor;
    loss += ops::cross_entropy(logits, batch.labels, sum).loss.item();
    hits += static_cast<double>(ops::count_correct(logits, batch.labels, sum));
  }
  const Tensor all =
      from_values(std::vector<double>{loss, hits}, {2}, DType::float64, any.device());
  group.all_reduce(all, ReduceOp::sum);
  const auto labels = static_cast<double>(dataset.size() * dataset.labels());
  return {all.item(0) / labels, all.item(1) / labels};
}

}  // namespace lockstep::train
