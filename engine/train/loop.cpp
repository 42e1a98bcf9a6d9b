#include "engine/train/loop.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "engine/base/stopwatch.hpp"
#include "engine/data/distributed_sampler.hpp"
#include "engine/data/loader.hpp"
#include "engine/train/evaluate.hpp"
#include "engine/train/replicas.hpp"

namespace lockstep::train {
namespace {

// The first `skip` steps of the epoch in which a run goes on were taken by the run before.
struct Start {
  int epoch;
  std::int64_t skip;
};

std::unique_ptr<data::Loader> make_loader(const comm::ProcessGroup& group,
                                          const data::Dataset& dataset, Device& device,
                                          Strands& strands, const TrainOptions& options,
                                          DType dtype, Start start) {
  data::Sampler sampler = [&dataset, start, seed = options.seed,
                           of_step = options.accumulate * options.batch_size, rank = group.rank(),
                           ranks = group.size()](int epoch) {
    auto order = data::distributed_indices({dataset.size(), rank, ranks, seed, epoch});
    const std::int64_t skip = epoch == start.epoch ? start.skip * of_step : 0;
    order.erase(order.begin(), order.begin() + std::min(skip, std::ssize(order)));
    return order;
  };
  const data::LoaderOptions of_loader{.batch_size = options.batch_size,
                                      .workers = options.workers,
                                      .prefetch = 2 * std::max(options.workers, 1),
                                      .dtype = dtype};
  if (options.workers == 0) {
    return data::make_plain_loader(dataset, std::move(sampler), of_loader, device);
  }
  return data::make_prefetching_loader(dataset, std::move(sampler), of_loader, device, strands);
}

std::int64_t steps_in_epoch(const TrainOptions& options, std::int64_t samples, int ranks) {
  const std::int64_t samples_of_rank = (samples + ranks - 1) / ranks;
  const std::int64_t batches = (samples_of_rank + options.batch_size - 1) / options.batch_size;
  return (batches + options.accumulate - 1) / options.accumulate;
}

double rate_of(std::int64_t step, std::int64_t steps, double base, int ranks,
               const TrainOptions& options) {
  optim::Schedule schedule{
      .decay = options.decay, .base = base, .warmup = options.warmup, .total = steps};
  if (!options.scaling) return optim::learning_rate_at(step, schedule);
  const optim::ScaledRate scaled{.base = base,
                                 .base_batch = options.base_batch,
                                 .batch = options.batch_size,
                                 .ranks = ranks,
                                 .accumulate = options.accumulate,
                                 .scaling = *options.scaling,
                                 .warmup = options.warmup};
  if (step < options.warmup) return optim::lr_at(step, scaled);
  schedule.base = optim::lr_at(options.warmup, scaled);
  return optim::learning_rate_at(step, schedule);
}

// Since it was made, by the group's clock and, where that is modelled, by the machine's.
class Times {
 public:
  explicit Times(const comm::ProcessGroup& group) : group_(group), began_(group.now_s()) {}
  double seconds() const { return group_.now_s() - began_; }
  std::optional<double> wall_seconds() const {
    if (group_.clock() == comm::Clock::machine) return std::nullopt;
    return wall_.seconds();
  }

 private:
  const comm::ProcessGroup& group_;
  double began_;
  Stopwatch wall_;
};

// Up to `most` batches; none at the end of the epoch.
std::vector<data::Batch> next_batches(data::Loader& loader, std::int64_t most) {
  std::vector<data::Batch> batches;
  while (std::ssize(batches) < most) {
    auto batch = loader.next();
    if (!batch) break;
    batches.push_back(std::move(*batch));
  }
  return batches;
}

}  // namespace

std::int64_t total_steps(const TrainOptions& options, std::int64_t samples, int ranks) {
  LOCKSTEP_CHECK(options.batch_size >= 1 && options.accumulate >= 1 && options.epochs >= 0 &&
                     options.steps >= 0,
                 "train: batch size ", options.batch_size, ", ", options.accumulate,
                 " batches a step, epochs ", options.epochs, ", steps ", options.steps,
                 "; none can be negative, a step has a batch, and a batch has a sample");
  LOCKSTEP_CHECK(options.first_step >= 0, "train: first step ", options.first_step);
  // Divided, not multiplied: ranks · batch_size may be more than 64 bits hold.
  if (options.batch_size > samples / ranks) {
    throw UsageError(text("a batch of ", options.batch_size, " samples on each of ", ranks,
                          ranks == 1 ? " rank" : " ranks", " is more than the ", samples,
                          " samples of the data; ", "pass --batch-size ",
                          std::max<std::int64_t>(samples / ranks, 1), " or less"));
  }
  if (options.steps > 0) return options.steps;
  return options.epochs * steps_in_epoch(options, samples, ranks);
}

Summary train(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer& optimizer,
              const data::Dataset& train_set, const data::Dataset& test_set,
              const TrainOptions& options, std::span<Observer* const> observers) {
  const std::int64_t steps = total_steps(options, train_set.size(), group.size());
  const double base_rate = optimizer.learning_rate();
  const DType dtype = model.parameters().front()->value.dtype();
  Device& device = model.parameters().front()->value.device();

  const std::int64_t steps_of_epoch = steps_in_epoch(options, train_set.size(), group.size());
  const Start start{static_cast<int>(options.first_step / steps_of_epoch),
                    options.first_step % steps_of_epoch};
  const auto threads = make_thread_strands();
  Strands& strands = options.strands != nullptr ? *options.strands : *threads;
  const auto loader = make_loader(group, train_set, device, strands, options, dtype, start);
  const auto stepper = make_stepper(group, model, optimizer, options.accumulate, options.step);

  Summary summary;
  summary.replicas_equal = true;
  if (!device.has_numbers()) summary.test_accuracy = std::numeric_limits<double>::quiet_NaN();
  double training_s = 0, samples_seen = 0;
  const Times run(group);
  std::int64_t step = options.first_step;
  for (int epoch = start.epoch; step < steps; ++epoch) {
    double loss_sum = 0, epoch_samples = 0;
    loader->start(epoch);
    for (; step < steps; ++step) {
      const double began = group.now_s();
      PhaseWatch* const phases = options.step.phases;
      if (phases != nullptr) phases->enter(Phase::data);
      const std::vector<data::Batch> mine = next_batches(*loader, options.accumulate);
      if (mine.empty()) break;
      optimizer.set_learning_rate(rate_of(step, steps, base_rate, group.size(), options));
      const std::int64_t sent_before = group.traffic().bytes_sent;
      const double loss =
          stepper->take(mine, {nn::Mode::training, options.seed, step, group.rank(), group.size()});
      if (phases != nullptr) phases->enter(Phase::other);
      const std::int64_t sent = group.traffic().bytes_sent - sent_before;
      if (device.has_numbers() && !std::isfinite(loss)) {
        throw Error(text("the loss became ", std::isnan(loss) ? "nan" : "infinite", " at step ",
                         step + 1,
                         ": the steps are too large; pass a smaller --lr, a --warmup or --clip 1"));
      }

      double samples = 0;
      for (const data::Batch& batch : mine) {
        samples += static_cast<double>(batch.inputs.size(0) * group.size());
      }
      const double seconds = group.now_s() - began;
      loss_sum += loss * samples;
      epoch_samples += samples;
      training_s += seconds;
      const ddp::Communication communication = stepper->communication();
      summary.communication += communication;
      for (Observer* observer : observers) {
        observer->on_step({step + 1, steps, epoch + 1, loss, samples / seconds, run.seconds(), sent,
                           communication, run.wall_seconds()});
      }
      const bool last = step + 1 == steps;
      if (options.save &&
          (last || (options.save_every > 0 && (step + 1) % options.save_every == 0)))
        options.save(step + 1);
    }
    samples_seen += epoch_samples;
    if (!device.has_numbers()) continue;

    const Evaluation test = evaluate(group, model, test_set);
    const auto hashes = gather_hashes(group, model);
    summary.test_accuracy = test.accuracy;
    summary.replicas_equal = summary.replicas_equal && all_equal(hashes);
    for (Observer* observer : observers) {
      observer->on_epoch({epoch + 1, loss_sum / epoch_samples, test.loss, test.accuracy, hashes,
                          run.seconds(), run.wall_seconds()});
    }
  }
  optimizer.set_learning_rate(base_rate);
  model.prepare({});
  summary.seconds = run.seconds();
  summary.wall_seconds = run.wall_seconds();
  summary.samples_per_s = training_s > 0 ? samples_seen / training_s : 0;
  for (Observer* observer : observers) observer->on_end(summary);
  return summary;
}

}  // namespace lockstep::train
