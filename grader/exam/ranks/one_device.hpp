// One device that trains as the ranks of a case should have done together: it is given the batches
// of all, each with its share of the mean.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "grader/judge/compare.hpp"
#include "grader/judge/keyed.hpp"
#include "grader/play/training.hpp"

namespace lockstep::grader {

// Draws samples of a rank from clouds that are shifted by rank and sample, so that every gradient
// differs, and adds them to its own.
inline void draw_samples(std::uint64_t salt, int rank, std::int64_t count, std::int64_t width,
                         std::int64_t classes, std::vector<double>& inputs,
                         std::vector<std::int64_t>& labels) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t at = static_cast<std::uint64_t>(i) * 16 + static_cast<std::uint64_t>(rank);
    const auto label =
        static_cast<std::int64_t>(keyed_bits(salt + 17, at) % static_cast<std::uint64_t>(classes));
    labels.push_back(label);
    for (std::int64_t j = 0; j < width; ++j) {
      const auto place = at * static_cast<std::uint64_t>(width) + static_cast<std::uint64_t>(j);
      inputs.push_back(2 * keyed_uniform(salt + 29, place) - 1 + 0.4 * rank +
                       0.1 * static_cast<double>(i % 7) + (j == label ? 1.5 : 0.0));
    }
  }
}

class OneDevice {
 public:
  using MakeModel = std::function<std::unique_ptr<nn::Module>(Device&)>;
  using MakeOptimizer = std::function<std::unique_ptr<optim::Optimizer>(nn::Module&)>;
  using Forward = std::function<Value(Tape&, const Value& inputs)>;

  OneDevice(const MakeModel& model, const MakeOptimizer& optimizer)
      : model_(model(device_)), optimizer_(optimizer(*model_)) {}
  // A small network, as a StepCase describes it.
  OneDevice(const std::vector<std::int64_t>& widths, DType dtype, std::uint64_t seed,
            const MakeOptimizer& optimizer)
      : OneDevice([&](Device& device) { return nn::make_mlp(widths, dtype, device, seed); },
                  optimizer) {}
  OneDevice(const std::vector<std::int64_t>& widths, DType dtype, std::uint64_t seed,
            OptimizerKind kind)
      : OneDevice(widths, dtype, seed,
                  [kind](nn::Module& model) { return make_optimizer(model, kind); }) {}

  // The mean loss of a batch. `share` times its gradients are added to those that are there; with a
  // share of 0, the batch is looked at and nothing is learnt of it.
  double add(const data::Batch& batch, double share) {
    return add(batch, share,
               [&](Tape& tape, const Value& inputs) { return model_->forward(tape, inputs); });
  }
  double add(const data::Batch& batch, double share, const Forward& forward) {
    Tape tape(GradMode::record);
    const Value logits = forward(tape, tape.constant(batch.inputs));
    const Value loss = autograd::cross_entropy(tape, logits, batch.labels);
    if (share != 0) tape.backward(autograd::scale(tape, loss, share));
    return loss.tensor.item();
  }

  Device& device() { return device_; }
  nn::Module& model() { return *model_; }
  optim::Optimizer& optimizer() { return *optimizer_; }
  std::vector<double> parameters(DType dtype) { return as_doubles(dtype, values_of(*model_)); }

 private:
  CpuDevice device_;
  std::unique_ptr<nn::Module> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

}  // namespace lockstep::grader
