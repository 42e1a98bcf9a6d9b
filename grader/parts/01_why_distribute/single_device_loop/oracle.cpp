#include "grader/parts/01_why_distribute/single_device_loop/oracle.hpp"

#include "engine/base/units.hpp"
#include "grader/exam/ranks/one_device.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::single_device_loop {
namespace {

using Problem = LoopProblem;
using Trained = LoopTrained;

OneDevice beginning(const Problem& p, std::uint64_t salt) {
  return {{width, 8, classes}, p.dtype, model_seed(salt), p.optimizer};
}

}  // namespace

std::uint64_t model_seed(std::uint64_t salt) { return keyed_bits(salt + 41, 0) >> 32; }

std::string LoopProblem::description() const {
  return text(counted(samples, "sample"), " in batches of ", batch, ", ", counted(epochs, "epoch"),
              ", ", turning ? "labels that change, " : "", easy ? "easy labels, " : "",
              optimizer == OptimizerKind::adam ? "Adam" : "SGD with momentum",
              dtype == DType::float32 ? ", float32" : "", name_of(odd));
}

std::vector<SampleValues> batches_of(const Problem& p, std::uint64_t salt, int epoch) {
  std::vector<SampleValues> batches;
  for (const std::int64_t i : keyed_order(p.samples, salt + static_cast<unsigned>(epoch))) {
    const auto sample = static_cast<std::uint64_t>(i);
    if (batches.empty() || std::cmp_equal(batches.back().labels.size(), p.batch)) {
      batches.emplace_back();
    }
    const auto label = static_cast<std::int64_t>(keyed_bits(salt + 17, sample) % classes);
    batches.back().labels.push_back((label + (p.turning ? epoch : 0)) % classes);
    for (std::int64_t j = 0; j < width; ++j) {
      const double noise = keyed_uniform(salt + 29, sample * width + static_cast<unsigned>(j));
      batches.back().inputs.push_back(3 * noise - 1.5 + (j == label ? (p.easy ? 8.0 : 1.0) : 0.0));
    }
  }
  for (std::size_t k = 0; k < batches.size(); ++k) {
    if (p.odd == Odd::zeros || k == batches.size() / 2) make_odd(batches[k].inputs, p.odd);
  }
  return batches;
}

Trained train(const Problem& p, std::uint64_t salt) {
  OneDevice one = beginning(p, salt);
  Trained trained;
  for (int epoch = 0; epoch < p.epochs; ++epoch) {
    double losses = 0, samples = 0;
    for (const SampleValues& values : batches_of(p, salt, epoch)) {
      const auto size = std::ssize(values.labels);
      one.optimizer().zero_grad();
      const double loss = one.add(
          make_batch(values.inputs, values.labels, width, 0, size, p.dtype, one.device()), 1);
      one.optimizer().step();
      losses += loss * static_cast<double>(size);
      samples += static_cast<double>(size);
    }
    trained.losses.push_back(losses / samples);
  }
  trained.parameters = one.parameters(p.dtype);
  return trained;
}

std::vector<double> beginning_of(const Problem& p, std::uint64_t salt) {
  return beginning(p, salt).parameters(p.dtype);
}

}  // namespace lockstep::grader::single_device_loop
