// Model, optimizer and batches as a StepCase describes them. The adapter trains with them inside a
// player, the exam trains one device with them on the trusted side.
#pragma once

#include <memory>

#include "engine/data/dataset.hpp"
#include "engine/nn/mlp.hpp"
#include "engine/optim/optimizer.hpp"
#include "grader/play/case_world.hpp"
#include "grader/play/step_case.hpp"

namespace lockstep::grader {

inline std::unique_ptr<optim::Optimizer> make_optimizer(nn::Module& model, OptimizerKind kind) {
  if (kind == OptimizerKind::adam) {
    return optim::make_adam(model.parameters(), {.learning_rate = 0.01});
  }
  return optim::make_sgd(model.parameters(), {.learning_rate = 0.1, .momentum = 0.9});
}

// A model with one parameter more, which takes no part in forward: a layer that is switched off.
class WithUnused final : public nn::Module {
 public:
  WithUnused(std::unique_ptr<nn::Module> used, DType dtype, Device& device)
      : used_(std::move(used)) {
    unused_.name = "unused";
    unused_.value = full({3, 2}, unused_value, dtype, device, MemoryKind::parameters);
  }
  static constexpr double unused_value = 0.75;

  Value forward(Tape& tape, const Value& input) override { return used_->forward(tape, input); }
  // In front: what steps over a missing gradient must go on behind it.
  std::vector<Parameter*> parameters() override {
    std::vector<Parameter*> all{&unused_};
    for (Parameter* parameter : used_->parameters()) all.push_back(parameter);
    return all;
  }

 private:
  std::unique_ptr<nn::Module> used_;
  Parameter unused_;
};

// Gradients as something else may have left them before the first step: a step begins by zeroing.
inline void leave_gradients(nn::Module& model) {
  for (Parameter* parameter : model.parameters()) {
    parameter->grad = parameter->value.clone(MemoryKind::gradients);
  }
}

// The bytes of each parameter, as a rank reports them.
inline std::vector<Bytes> values_of(nn::Module& model) {
  std::vector<Bytes> values;
  for (const Parameter* parameter : model.parameters()) values.push_back(copy_of(parameter->value));
  return values;
}

// Samples [first, first + count) of the flat lists.
inline data::Batch make_batch(const std::vector<double>& inputs,
                              const std::vector<std::int64_t>& labels, std::int64_t width,
                              std::int64_t first, std::int64_t count, DType dtype, Device& device) {
  const auto values = std::span(inputs).subspan(static_cast<std::size_t>(first * width),
                                                static_cast<std::size_t>(count * width));
  const auto chosen =
      std::span(labels).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  data::Batch batch{from_values(values, {count, width}, dtype, device),
                    empty({count}, DType::int64, device)};
  write_bytes(batch.labels, std::as_bytes(chosen));
  return batch;
}

}  // namespace lockstep::grader
