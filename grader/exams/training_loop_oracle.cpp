#include "grader/exams/training_loop_oracle.hpp"

#include <algorithm>

#include "engine/data/distributed_sampler.hpp"
#include "engine/data/loader.hpp"

namespace lockstep::grader {
namespace {

double rate_at(const train::LoopOptions& options, LoopWay way, std::int64_t step,
               std::int64_t epoch, std::int64_t in_epoch) {
  const auto at = [&](std::int64_t number) {
    return optim::learning_rate_at(number, options.schedule);
  };
  if (way == LoopWay::rate_of_epoch) return at(epoch);
  if (way == LoopWay::rate_anew_each_epoch) return at(in_epoch);
  if (way == LoopWay::rate_one_late) return at(step + 1);
  return at(step);
}

nn::Occasion occasion_of(const DrawnLoop& drawn, LoopWay way, std::int64_t step, int rank) {
  if (way == LoopWay::prepared_for_evaluation) return {};
  const auto seed = drawn.case_of(rank).options.seed;
  if (way == LoopWay::one_randomness) return {nn::Mode::training, seed, step, 0, 1};
  if (way == LoopWay::same_every_step) step = 0;
  return {nn::Mode::training, seed, step, rank, drawn.problem.ranks};
}

}  // namespace

std::string LoopProblem::description() const {
  return text(ranks, ranks == 1 ? " rank" : " ranks",
              members.empty() ? "" : text(" of a world of ", world()), ", ", samples, " samples, ",
              batch, " a step and rank, ", epochs, epochs == 1 ? " epoch, " : " epochs, ",
              optimizer == OptimizerKind::adam ? "Adam" : "SGD with momentum",
              clip_norm > 0 ? text(", clipped to ", clip_norm) : "",
              dtype == DType::float32 ? ", float32" : "");
}

HiddenSamples DrawnLoop::samples() const { return {{problem.samples, 5, 1, 4}, salt}; }

std::uint64_t DrawnLoop::model_seed(int rank) const {
  return random_bits(salt + 3, static_cast<std::uint64_t>(rank)) >> 32;
}

TrainingLoopCase DrawnLoop::case_of(int rank) const {
  TrainingLoopCase c;
  c.dtype = problem.dtype;
  c.optimizer = problem.optimizer;
  c.model_seed = model_seed(rank);
  c.dataset = samples().shape;
  c.options.batch_size = problem.batch;
  c.options.epochs = problem.epochs;
  c.options.seed = random_bits(salt + 5, 0) >> 40;
  c.options.clip_norm = problem.clip_norm;
  const std::int64_t steps = std::max<std::int64_t>(problem.epochs * problem.steps_in_epoch(), 1);
  const double base = problem.optimizer == OptimizerKind::adam ? 0.02 : 0.3;
  c.options.schedule = {optim::Decay::linear, base, 2, steps, 0};
  return c;
}

std::vector<std::vector<std::int64_t>> DrawnLoop::reads_of(int rank) const {
  const auto options = case_of(rank).options;
  std::vector<std::vector<std::int64_t>> batches;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    const auto order =
        data::distributed_indices({problem.samples, rank, problem.ranks, options.seed, epoch});
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

LoopTrained train_on_one_device(const DrawnLoop& drawn, LoopWay way) {
  const LoopProblem& p = drawn.problem;
  const HiddenSamples samples = drawn.samples();
  const train::LoopOptions options = drawn.case_of(0).options;
  CpuDevice device;
  const int beginning = way == LoopWay::last_rank_counts ? p.ranks - 1 : 0;
  OccasionalModel model(samples.shape, p.dtype, device, drawn.model_seed(beginning));
  const auto optimizer = make_optimizer(model, p.optimizer);
  const auto parameters = model.parameters();
  std::vector<std::vector<std::vector<std::int64_t>>> reads;
  for (int rank = 0; rank < p.ranks; ++rank) reads.push_back(drawn.reads_of(rank));

  LoopTrained trained;
  trained.losses_of.resize(reads.size());
  for (std::size_t k = 0; k < reads[0].size(); ++k) {
    const auto step = static_cast<std::int64_t>(k);
    std::vector<Tensor> sums(parameters.size());
    double loss_sum = 0;
    for (int rank = 0; rank < p.ranks; ++rank) {
      const auto& indices = reads[static_cast<std::size_t>(rank)][k];
      const auto batch = make_batch(samples.inputs_of(indices), samples.labels_of(indices),
                                    samples.shape.inputs, 0, std::ssize(indices), p.dtype, device);
      optimizer->zero_grad();
      model.prepare(occasion_of(drawn, way, step, rank));
      Tape tape(GradMode::record);
      const Value logits = model.forward(tape, tape.constant(batch.inputs));
      const Value loss = autograd::cross_entropy(tape, logits, batch.labels);
      tape.backward(loss);
      loss_sum += loss.tensor.item();
      trained.losses_of[static_cast<std::size_t>(rank)].push_back(loss.tensor.item());
      if (way == LoopWay::not_averaged && rank > 0) continue;
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Tensor share = parameters[i]->grad.clone();
        if (way != LoopWay::not_averaged) share.scale_(1.0 / p.ranks);
        if (sums[i].defined()) {
          sums[i].reduce_(share, ReduceOp::sum);
        } else {
          sums[i] = share;
        }
      }
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i]->grad.copy_(sums[i]);
    if (p.clip_norm > 0 && way != LoopWay::not_clipped) {
      optim::clip_grad_norm(parameters, p.clip_norm);
    }
    const std::int64_t per_epoch = p.steps_in_epoch();
    if (way != LoopWay::rate_left_alone) {
      optimizer->set_learning_rate(rate_at(options, way, step, step / per_epoch, step % per_epoch));
    }
    optimizer->step();
    trained.losses.push_back(loss_sum / p.ranks);
  }
  trained.numbers = model.numbers();
  return trained;
}

}  // namespace lockstep::grader
