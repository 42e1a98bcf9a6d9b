// The case format of training_loop, shared by adapter and exam; the model that is trained; and the
// line over which a rank logs, so that the judge sees who wrote what, and when.
#pragma once

#include <memory>
#include <vector>

#include "engine/base/random.hpp"
#include "engine/tensor/ops.hpp"
#include "engine/train/training_loop.hpp"
#include "grader/play/served_dataset.hpp"
#include "grader/play/training.hpp"

namespace lockstep::grader {

// options.log is not part of a case. A rank reports parameters and buffers, flat.
struct TrainingLoopCase {
  GroupChoice group{};
  Peer peer = Peer::stays;
  DType dtype = DType::float64;
  OptimizerKind optimizer = OptimizerKind::momentum;
  std::uint64_t model_seed = 0;  // of this rank
  DatasetShape dataset{};
  train::LoopOptions options{};
};
template <typename Archive>
void fields(Archive& archive, TrainingLoopCase& c) {
  archive(c.group, c.peer, c.dtype, c.optimizer, c.model_seed, c.dataset);
  auto& [batch_size, epochs, seed, schedule, clip_norm, log] = c.options;
  archive(batch_size, epochs, seed, clip_norm, schedule.decay, schedule.base, schedule.warmup,
          schedule.total, schedule.last);
}

// An entry that the loop logs.
struct LogCall {
  static constexpr const char* service = "log";
  train::LoggedStep line{};
};
template <typename Archive>
void fields(Archive& archive, LogCall& call) {
  archive(call.line.step, call.line.epoch, call.line.loss);
}

// A model with a buffer, and with something like dropout: prepared for training it scales each
// sample by a number drawn from the seed, the step and the sample's number in the global batch.
class OccasionalModel final : public nn::Module {
 public:
  OccasionalModel(const DatasetShape& shape, DType dtype, Device& device, std::uint64_t seed) {
    const std::vector<std::int64_t> widths{shape.inputs, 8, shape.classes};
    mlp_ = nn::make_mlp(widths, dtype, device, seed);
    std::vector<double> shift;
    for (std::int64_t i = 0; i < shape.inputs; ++i) {
      shift.push_back(random_uniform(seed + 1, static_cast<std::uint64_t>(i)) - 0.5);
    }
    shift_ = {"shift", from_values(shift, {shape.inputs}, dtype, device)};
  }

  Value forward(Tape& tape, const Value& input) override {
    const Tensor& x = input.tensor;
    const std::int64_t samples = x.size(0);
    std::vector<double> scales;
    for (std::int64_t i = 0; i < samples; ++i) {
      const auto number =
          static_cast<std::uint64_t>(occasion_.first_sample + i * occasion_.sample_stride);
      const auto draw = occasion_.seed + 7919 * static_cast<std::uint64_t>(occasion_.step);
      const bool drops = occasion_.mode == nn::Mode::training;
      scales.push_back(drops ? 0.5 + random_uniform(draw, number) : 1);
    }
    const Tensor scaled =
        ops::multiply(x, from_values(scales, {samples, 1}, x.dtype(), x.device()));
    return mlp_->forward(tape, tape.constant(ops::add(scaled, shift_.value)));
  }
  void prepare(const nn::Occasion& occasion) override { occasion_ = occasion; }
  std::vector<Parameter*> parameters() override { return mlp_->parameters(); }
  std::vector<nn::Buffer*> buffers() override { return {&shift_}; }

  // Parameters and buffers, flat.
  std::vector<double> numbers() {
    std::vector<double> all;
    const auto add = [&](const Tensor& tensor) {
      for (std::int64_t i = 0; i < tensor.numel(); ++i) all.push_back(tensor.item(i));
    };
    for (const Parameter* parameter : parameters()) add(parameter->value);
    add(shift_.value);
    return all;
  }

 private:
  std::unique_ptr<nn::Module> mlp_;
  nn::Buffer shift_;
  nn::Occasion occasion_;
};

}  // namespace lockstep::grader
