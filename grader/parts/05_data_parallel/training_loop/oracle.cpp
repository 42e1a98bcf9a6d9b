#include "grader/parts/05_data_parallel/training_loop/oracle.hpp"

#include <algorithm>
#include <numeric>

#include "engine/base/units.hpp"
#include "engine/data/distributed_sampler.hpp"
#include "engine/data/loader.hpp"
#include "grader/exam/ranks/one_device.hpp"
#include "grader/judge/keyed.hpp"

namespace lockstep::grader::training_loop {

std::string LoopProblem::description() const {
  return text(members.description(), ", ", counted(samples, "sample"), ", ", batch,
              " a step and rank, ", counted(epochs, "epoch"), ", ",
              optimizer == OptimizerKind::adam ? "Adam" : "SGD with momentum",
              clip_norm > 0 ? text(", clipped to ", clip_norm) : "",
              rate > 0 ? text(", a rate of ", rate) : "",
              dtype == DType::float32 ? ", float32" : "", name_of(odd));
}

HiddenSamples DrawnLoop::samples() const { return {{problem.samples, 5, 1, 4}, salt, problem.odd}; }

std::uint64_t DrawnLoop::model_seed(int rank) const {
  return keyed_bits(salt + 3, static_cast<std::uint64_t>(rank)) >> 32;
}

TrainingLoopCase DrawnLoop::case_of(int rank) const {
  TrainingLoopCase c;
  c.dtype = problem.dtype;
  c.optimizer = problem.optimizer;
  c.model_seed = model_seed(rank);
  c.dataset = samples().shape;
  c.options.batch_size = problem.batch;
  c.options.epochs = problem.epochs;
  c.options.seed = keyed_bits(salt + 5, 0);  // of 64 bits
  c.options.clip_norm = problem.clip_norm;
  const std::int64_t steps = std::max<std::int64_t>(problem.epochs * problem.steps_in_epoch(), 1);
  const double usual = problem.optimizer == OptimizerKind::adam ? 0.02 : 0.3;
  const double base = problem.rate > 0 ? problem.rate : usual;
  c.options.schedule = {optim::Decay::linear, base, 2, steps, 0};
  return c;
}

std::vector<std::vector<std::int64_t>> DrawnLoop::reads_of(int rank) const {
  const auto options = case_of(rank).options;
  std::vector<std::vector<std::int64_t>> batches;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    const auto order =
        data::distributed_indices({problem.samples, rank, problem.ranks(), options.seed, epoch});
    for (const auto& batch : data::batches_of(order, {.batch_size = options.batch_size})) {
      batches.push_back(batch);
    }
  }
  return batches;
}

std::vector<double> beginning_of(const DrawnLoop& drawn) {
  CpuDevice device;
  return OccasionalModel(drawn.samples().shape, drawn.problem.dtype, device, drawn.model_seed(0))
      .numbers();
}

std::vector<double> epoch_losses(const LoopProblem& problem, std::span<const double> of_steps) {
  const auto per_epoch = static_cast<std::size_t>(problem.steps_in_epoch());
  std::vector<double> means;
  for (std::size_t first = 0; first + per_epoch <= of_steps.size(); first += per_epoch) {
    const auto epoch = of_steps.subspan(first, per_epoch);
    means.push_back(std::accumulate(epoch.begin(), epoch.end(), 0.0) /
                    static_cast<double>(per_epoch));
  }
  return means;
}

LoopTrained train_on_one_device(const DrawnLoop& drawn) {
  const LoopProblem& p = drawn.problem;
  const HiddenSamples samples = drawn.samples();
  const train::LoopOptions options = drawn.case_of(0).options;
  OccasionalModel* model = nullptr;
  OneDevice one(
      [&](Device& device) {
        auto made =
            std::make_unique<OccasionalModel>(samples.shape, p.dtype, device, drawn.model_seed(0));
        model = made.get();
        return made;
      },
      [&](nn::Module& made) { return make_optimizer(made, p.optimizer); });
  std::vector<std::vector<std::vector<std::int64_t>>> reads;
  for (int rank = 0; rank < p.ranks(); ++rank) reads.push_back(drawn.reads_of(rank));

  LoopTrained trained;
  trained.losses_of.resize(reads.size());
  for (std::size_t k = 0; k < reads[0].size(); ++k) {
    const auto step = static_cast<std::int64_t>(k);
    one.optimizer().zero_grad();
    double loss_sum = 0;
    for (int rank = 0; rank < p.ranks(); ++rank) {
      const auto& indices = reads[static_cast<std::size_t>(rank)][k];
      model->prepare({nn::Mode::training, options.seed, step, rank, p.ranks()});
      const double loss =
          one.add(make_batch(samples.inputs_of(indices), samples.labels_of(indices),
                             samples.shape.inputs, 0, std::ssize(indices), p.dtype, one.device()),
                  1.0 / p.ranks());
      loss_sum += loss;
      trained.losses_of[static_cast<std::size_t>(rank)].push_back(loss);
    }
    if (p.clip_norm > 0) optim::clip_grad_norm(model->parameters(), p.clip_norm);
    one.optimizer().set_learning_rate(optim::learning_rate_at(step, options.schedule));
    one.optimizer().step();
    trained.losses.push_back(loss_sum / p.ranks());
  }
  trained.numbers = model->numbers();
  return trained;
}

}  // namespace lockstep::grader::training_loop
