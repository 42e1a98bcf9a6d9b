// The model is prepared where it is used, so a rank without samples never prepares it; and the
// losses come as sums.
#include <array>
#include <vector>

#include "engine/tensor/ops.hpp"
#include "engine/train/evaluate.hpp"

namespace lockstep::train {

Evaluation evaluate(comm::ProcessGroup& group, nn::Module& model, const data::Dataset& dataset) {
  LOCKSTEP_CHECK(dataset.size() > 0, "evaluate: the dataset is empty; a mean needs a sample");
  const Tensor& any = model.parameters().front()->value;
  std::vector<std::int64_t> waiting;
  std::array<double, 3> sums{};
  const auto score = [&] {
    const data::Batch batch = dataset.batch(waiting, any.dtype(), any.device());
    model.prepare({.mode = nn::Mode::evaluation});
    Tape tape(GradMode::inference);
    const Tensor logits = model.forward(tape, tape.constant(batch.inputs)).tensor;
    sums[0] +=
        ops::cross_entropy(logits, batch.labels, {.reduction = ops::Reduction::sum}).loss.item();
    sums[1] += static_cast<double>(ops::count_correct(logits, batch.labels));
    sums[2] += static_cast<double>(batch.labels.numel());
    waiting.clear();
  };
  for (std::int64_t i = group.rank(); i < dataset.size(); i += group.size()) {
    waiting.push_back(i);
    if (std::ssize(waiting) == samples_at_once(dataset)) score();
  }
  if (!waiting.empty()) score();
  const Tensor all = from_values(sums, {3}, DType::float64, any.device());
  group.all_reduce(all, ReduceOp::sum);
  return {all.item(0) / all.item(2), all.item(1) / all.item(2)};
}

}  // namespace lockstep::train
