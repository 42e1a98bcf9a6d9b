#include "engine/train/evaluate.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "engine/tensor/ops.hpp"

namespace lockstep::train {
namespace {

// Labels that one forward pass predicts at most, and samples: bounds the memory of activations.
constexpr std::int64_t labels_max = 4096;
constexpr std::int64_t samples_max = 256;

}  // namespace

Evaluation evaluate(comm::ProcessGroup& group, nn::Module& model, const data::Dataset& dataset) {
  LOCKSTEP_CHECK(dataset.size() > 0, "evaluate: the dataset is empty; a mean needs a sample");
  const Tensor& any = model.parameters().front()->value;
  model.prepare({});
  const std::int64_t chunk =
      std::clamp<std::int64_t>(labels_max / dataset.labels(), 1, samples_max);
  std::array<double, 3> sums{};  // loss, correct, labels
  for (std::int64_t first = group.rank(); first < dataset.size(); first += chunk * group.size()) {
    std::vector<std::int64_t> indices;
    const std::int64_t end = std::min(dataset.size(), first + chunk * group.size());
    for (std::int64_t i = first; i < end; i += group.size()) indices.push_back(i);

    const data::Batch batch = dataset.batch(indices, any.dtype(), any.device());
    Tape tape(GradMode::inference);
    const Tensor logits = model.forward(tape, tape.constant(batch.inputs)).tensor;
    const auto labels = static_cast<double>(batch.labels.numel());
    sums[0] += ops::cross_entropy(logits, batch.labels).loss.item() * labels;
    sums[1] += static_cast<double>(ops::count_correct(logits, batch.labels));
    sums[2] += labels;
  }
  const Tensor all = from_values(sums, {3}, DType::float64, any.device());
  group.all_reduce(all, ReduceOp::sum);
  return {all.item(0) / all.item(2), all.item(1) / all.item(2)};
}

}  // namespace lockstep::train
