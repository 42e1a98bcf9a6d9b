#include "grader/parts/05_data_parallel/training_loop/oracle.hpp"

#include <algorithm>
#include <numeric>

#include "engine/base/units.hpp"
#include "engine/data/distributed_sampler.hpp"
#include "engine/data/loader.hpp"
#include "grader/judge/compare.hpp"

namespace lockstep::grader::training_loop {
namespace {

double rate_at(const train::LoopOptions& options, LoopWay way, std::int64_t step,
               std::int64_t epoch, std::int64_t in_epoch) {
  const auto at = [&](std::int64_t number) {
    return optim::learning_rate_at(number, options.schedule);
  };
  switch (way) {
    case LoopWay::rate_of_epoch:
      return at(epoch);
    case LoopWay::rate_anew_each_epoch:
    case LoopWay::counted_anew:
      return at(in_epoch);
    case LoopWay::rate_one_late:
    case LoopWay::counted_from_one:
      return at(step + 1);
    case LoopWay::rate_one_early:
      return at(step - 1);
    default:
      return at(step);
  }
}

nn::Occasion occasion_of(const DrawnLoop& drawn, LoopWay way, std::int64_t step, int rank) {
  const auto seed = drawn.case_of(rank).options.seed;
  nn::Occasion occasion{nn::Mode::training, seed, step, rank, drawn.problem.ranks()};
  switch (way) {
    case LoopWay::prepared_for_evaluation:
      return {};
    case LoopWay::one_randomness:
      occasion.first_sample = 0, occasion.sample_stride = 1;
      break;
    case LoopWay::numbered_in_blocks:
      occasion.first_sample = rank * drawn.problem.batch, occasion.sample_stride = 1;
      break;
    case LoopWay::numbered_alike:
      occasion.sample_stride = 1;
      break;
    case LoopWay::rank_in_the_seed:
      occasion.seed += static_cast<std::uint64_t>(rank);
      occasion.first_sample = 0, occasion.sample_stride = 1;
      break;
    case LoopWay::seed_cut:
      occasion.seed = static_cast<std::uint32_t>(seed);
      break;
    case LoopWay::same_every_step:
      occasion.step = 0;
      break;
    case LoopWay::counted_from_one:
      occasion.step = step + 1;
      break;
    case LoopWay::counted_anew:
      occasion.step = step % drawn.problem.steps_in_epoch();
      break;
    default:
      break;
  }
  return occasion;
}

}  // namespace

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
  c.options.seed = random_bits(salt + 5, 0);  // of 64 bits
  c.options.clip_norm = problem.clip_norm;
  const std::int64_t steps = std::max<std::int64_t>(problem.epochs * problem.steps_in_epoch(), 1);
  const double usual = problem.optimizer == OptimizerKind::adam ? 0.02 : 0.3;
  const double base = problem.rate > 0 ? problem.rate : usual;
  c.options.schedule = {optim::Decay::linear, base, 2, steps, 0};
  return c;
}

const std::vector<Mistake<LoopWay>>& loop_mistakes() {
  using enum LoopWay;
  static const std::vector<Mistake<LoopWay>> all{
      {{"other_source", "the replicas started with the last rank's values; start with rank 0's"},
       last_rank_counts},
      {{"rate_left_alone",
        "the optimizer kept its old rate: before each step call set_learning_rate with "
        "learning_rate_at(step, options.schedule)"},
       rate_left_alone},
      {{"rate_of_epoch",
        "the rate followed the epochs, or was set once; a schedule counts optimizer steps"},
       rate_of_epoch},
      {{"rate_anew", "the schedule started again in every epoch; steps count over all epochs"},
       rate_anew_each_epoch},
      {{"counted_anew",
        "the step counter started again in every epoch; schedule, occasion and log count "
        "steps over all epochs"},
       counted_anew},
      {{"rate_one_late", "the rate is the next step's; steps count from 0"}, rate_one_late},
      {{"counted_from_one",
        "steps were counted from 1; for the schedule and the occasion the first step is step 0"},
       counted_from_one},
      {{"rate_one_early",
        "each step used the previous step's rate: call set_learning_rate before the step"},
       rate_one_early},
      {{"not_clipped", "the gradient was not clipped: options.clip_norm was ignored"}, not_clipped},
      {{"not_prepared",
        "the model was not prepared for training, so dropout was inactive: call model.prepare "
        "before each step"},
       prepared_for_evaluation},
      {{"one_randomness",
        "all ranks drew the same dropout masks: sample i of rank r is number r + i·N of the global "
        "batch, so first_sample is the rank and sample_stride is N"},
       one_randomness},
      {{"numbered_in_blocks",
        "the occasion numbers a rank's samples r·B + i, as if each rank had a block of the global "
        "batch; samples are dealt out in turn, so sample i of rank r is number r + i·N"},
       numbered_in_blocks},
      {{"numbered_alike",
        "the occasion's sample_stride is 1, so ranks draw the same mask for different samples: "
        "sample i of rank r is number r + i·N"},
       numbered_alike},
      {{"rank_in_the_seed",
        "the rank went into the occasion's seed: all ranks share one seed, and only the sample's "
        "number, r + i·N, differs"},
       rank_in_the_seed},
      {{"seed_cut", "the occasion's seed has only the lower 32 bits of options.seed, which has 64"},
       seed_cut},
      {{"same_every_step", "every step drew the same dropout masks: the occasion needs the step"},
       same_every_step},
      {{"not_averaged", "rank 0 trained on its own samples only"}, not_averaged},
  };
  return all;
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

LoopTrained train_on_one_device(const DrawnLoop& drawn, LoopWay way) {
  const LoopProblem& p = drawn.problem;
  const HiddenSamples samples = drawn.samples();
  const train::LoopOptions options = drawn.case_of(0).options;
  CpuDevice device;
  const int beginning = way == LoopWay::last_rank_counts ? p.ranks() - 1 : 0;
  OccasionalModel model(samples.shape, p.dtype, device, drawn.model_seed(beginning));
  const auto optimizer = make_optimizer(model, p.optimizer);
  const auto parameters = model.parameters();
  std::vector<std::vector<std::vector<std::int64_t>>> reads;
  for (int rank = 0; rank < p.ranks(); ++rank) reads.push_back(drawn.reads_of(rank));

  LoopTrained trained;
  trained.losses_of.resize(reads.size());
  for (std::size_t k = 0; k < reads[0].size(); ++k) {
    const auto step = static_cast<std::int64_t>(k);
    std::vector<Tensor> sums(parameters.size());
    double loss_sum = 0;
    for (int rank = 0; rank < p.ranks(); ++rank) {
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
        if (way != LoopWay::not_averaged) share.scale_(1.0 / p.ranks());
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
    const bool set = way != LoopWay::rate_one_early || step > 0;
    if (way != LoopWay::rate_left_alone && set) {
      optimizer->set_learning_rate(rate_at(options, way, step, step / per_epoch, step % per_epoch));
    }
    optimizer->step();
    trained.losses.push_back(loss_sum / p.ranks());
  }
  trained.numbers = model.numbers();
  return trained;
}

}  // namespace lockstep::grader::training_loop
