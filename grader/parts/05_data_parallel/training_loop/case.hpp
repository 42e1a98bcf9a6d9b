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

// options.log is not part of a case.
struct TrainingLoopCase {
  GroupChoice group;
  DType dtype = DType::float64;
  OptimizerKind optimizer = OptimizerKind::momentum;
  std::uint64_t model_seed = 0;  // of this rank
  DatasetShape dataset;
  train::LoopOptions options;
  std::uint8_t peer_dies = 0;  // then a rank reports only how its call ended
};

inline Bytes encode(const TrainingLoopCase& c) {
  ByteWriter out;
  write(out, c.group);
  out.put(c.dtype).put(c.optimizer).put(c.model_seed);
  write(out, c.dataset);
  const auto& [batch_size, epochs, seed, schedule, clip_norm, log] = c.options;
  out.put(batch_size).put(epochs).put(seed).put(clip_norm);
  out.put(schedule.decay).put(schedule.base).put(schedule.warmup);
  out.put(schedule.total).put(schedule.last).put(c.peer_dies);
  return out.take();
}

inline TrainingLoopCase decode_training_loop_case(ByteReader& in) {
  TrainingLoopCase c;
  c.group = read_group_choice(in);
  c.dtype = in.get<DType>();
  c.optimizer = in.get<OptimizerKind>();
  c.model_seed = in.get<std::uint64_t>();
  c.dataset = read_dataset_shape(in);
  c.options.batch_size = in.get<std::int64_t>();
  c.options.epochs = in.get<int>();
  c.options.seed = in.get<std::uint64_t>();
  c.options.clip_norm = in.get<double>();
  c.options.schedule.decay = in.get<optim::Decay>();
  c.options.schedule.base = in.get<double>();
  c.options.schedule.warmup = in.get<std::int64_t>();
  c.options.schedule.total = in.get<std::int64_t>();
  c.options.schedule.last = in.get<double>();
  c.peer_dies = in.get<std::uint8_t>();
  return c;
}

// The service "log": told a step, an epoch and a loss; the answer is empty.
inline constexpr const char* log_service = "log";

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
