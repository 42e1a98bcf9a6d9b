#include "grader/parts/01_why_distribute/single_device_loop/oracle.hpp"

#include "engine/base/random.hpp"
#include "engine/base/units.hpp"
#include "grader/judge/compare.hpp"
#include "grader/play/training.hpp"

namespace lockstep::grader::single_device_loop {
namespace {

using Problem = LoopProblem;
using Variant = LoopVariant;
using Mean = LoopMean;
using Trained = LoopTrained;

struct Sums {
  double losses = 0, weights = 0;
};

void add_batch(Sums& sums, Mean mean, double loss, double size) {
  const bool first = sums.weights == 0;
  if (mean == Mean::last_batch) sums = {};
  if (mean == Mean::first_batch && !first) return;
  const bool by_samples =
      mean == Mean::over_samples || mean == Mean::over_all_epochs || mean == Mean::after_the_update;
  const double weight = by_samples ? size : 1;
  sums.losses += loss * weight;
  sums.weights = mean == Mean::sum_of_batches ? 1 : sums.weights + weight;
}

bool every_second(Variant variant) {
  return variant == Variant::even_batches_only || variant == Variant::odd_batches_only;
}

}  // namespace

std::string LoopProblem::description() const {
  return text(counted(samples, "sample"), " in batches of ", batch, ", ", counted(epochs, "epoch"),
              ", ", turning ? "labels that change, " : "", easy ? "easy labels, " : "",
              optimizer == OptimizerKind::adam ? "Adam" : "SGD with momentum",
              dtype == DType::float32 ? ", float32" : "", name_of(odd));
}

std::vector<SampleValues> batches_of(const Problem& p, std::uint64_t salt, int epoch) {
  std::vector<SampleValues> batches;
  for (const std::int64_t i : random_permutation(p.samples, salt + static_cast<unsigned>(epoch))) {
    const auto sample = static_cast<std::uint64_t>(i);
    if (batches.empty() || std::cmp_equal(batches.back().labels.size(), p.batch)) {
      batches.emplace_back();
    }
    const auto label = static_cast<std::int64_t>(random_bits(salt + 17, sample) % classes);
    batches.back().labels.push_back((label + (p.turning ? epoch : 0)) % classes);
    for (std::int64_t j = 0; j < width; ++j) {
      const double noise = random_uniform(salt + 29, sample * width + static_cast<unsigned>(j));
      batches.back().inputs.push_back(3 * noise - 1.5 + (j == label ? (p.easy ? 8.0 : 1.0) : 0.0));
    }
  }
  for (std::size_t k = 0; k < batches.size(); ++k) {
    if (p.odd == Odd::zeros || k == batches.size() / 2) make_odd(batches[k].inputs, p.odd);
  }
  return batches;
}

Trained train(const Problem& p, std::uint64_t salt, Variant variant, Mean mean) {
  CpuDevice device;
  const std::vector<std::int64_t> widths{width, 8, classes};
  const auto model = nn::make_mlp(widths, p.dtype, device, p.model_seed);
  const auto optimizer = make_optimizer(*model, p.optimizer);
  const auto loss_of = [&](Tape& tape, const data::Batch& batch) {
    const Value logits = model->forward(tape, tape.constant(batch.inputs));
    return autograd::cross_entropy(tape, logits, batch.labels);
  };
  Trained trained;
  Sums sums;
  for (int epoch = 0; epoch < p.epochs; ++epoch) {
    if (mean != Mean::over_all_epochs) sums = {};
    auto batches = batches_of(p, salt, epoch);
    if (variant == Variant::last_batch_left_out) batches.pop_back();
    for (std::size_t k = 0; k < batches.size(); ++k) {
      if (k % 2 == (variant == Variant::even_batches_only ? 1U : 0U) && every_second(variant))
        continue;
      const auto size = static_cast<std::int64_t>(batches[k].labels.size());
      const data::Batch batch =
          make_batch(batches[k].inputs, batches[k].labels, width, 0, size, p.dtype, device);
      const bool collects =
          variant == Variant::no_zero || (variant == Variant::step_once_an_epoch && k > 0);
      if (variant == Variant::step_before_backward) optimizer->step();
      if (!collects) optimizer->zero_grad();
      Tape tape(GradMode::record);
      const Value loss = loss_of(tape, batch);
      double number = loss.tensor.item();
      tape.backward(loss);
      const bool steps = variant == Variant::right || variant == Variant::no_zero ||
                         variant == Variant::last_batch_left_out || every_second(variant) ||
                         variant == Variant::steps_twice ||
                         (variant == Variant::step_once_an_epoch && k + 1 == batches.size());
      if (steps) optimizer->step();
      if (variant == Variant::steps_twice) optimizer->step();
      if (mean == Mean::after_the_update) {
        Tape again(GradMode::inference);
        number = loss_of(again, batch).tensor.item();
      }
      add_batch(sums, mean, number, static_cast<double>(size));
    }
    trained.losses.push_back(sums.losses / sums.weights);
  }
  trained.parameters = as_doubles(p.dtype, values_of(*model));
  return trained;
}

}  // namespace lockstep::grader::single_device_loop
