#include "engine/train/loop.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/data/distributed_sampler.hpp"
#include "engine/optim/schedule.hpp"
#include "engine/parallel/data_parallel/data_parallel_step.hpp"
#include "engine/train/evaluate.hpp"
#include "engine/train/replicas.hpp"

namespace lockstep::train {
namespace {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

double rate_at(std::int64_t step, double base, std::int64_t steps, const TrainOptions& options) {
  const auto decay =
      options.schedule == RateSchedule::cosine ? optim::Decay::cosine : optim::Decay::constant;
  return optim::learning_rate_at(
      step, {.decay = decay, .base = base, .warmup = options.warmup, .total = steps});
}

// The mean over the group of a mean over equally many samples: the mean over the global batch.
double mean_over(comm::ProcessGroup& group, double loss, Device& device) {
  const Tensor mean = full({1}, loss / group.size(), DType::float64, device);
  group.all_reduce(mean, ReduceOp::sum);
  return mean.item();
}

std::int64_t steps_in_epoch(std::int64_t batch_size, std::int64_t samples, int ranks) {
  const std::int64_t samples_of_rank = (samples + ranks - 1) / ranks;
  return (samples_of_rank + batch_size - 1) / batch_size;
}

}  // namespace

std::int64_t total_steps(const TrainOptions& options, std::int64_t samples, int ranks) {
  LOCKSTEP_CHECK(options.batch_size >= 1 && options.epochs >= 0 && options.steps >= 0,
                 "train: batch size ", options.batch_size, ", epochs ", options.epochs, ", steps ",
                 options.steps, "; none can be negative, and a batch has a sample");
  // Divided, not multiplied: ranks · batch_size may be more than 64 bits hold.
  if (options.batch_size > samples / ranks) {
    throw UsageError(text("a batch of ", options.batch_size, " samples on each of ", ranks,
                          ranks == 1 ? " rank" : " ranks", " is more than the ", samples,
                          " samples of the data; ", "pass --batch-size ",
                          std::max<std::int64_t>(samples / ranks, 1), " or less"));
  }
  if (options.steps > 0) return options.steps;
  return options.epochs * steps_in_epoch(options.batch_size, samples, ranks);
}

Summary train(comm::ProcessGroup& group, nn::Module& model, optim::Optimizer& optimizer,
              const data::Dataset& train_set, const data::Dataset& test_set,
              const TrainOptions& options, std::span<Observer* const> observers) {
  const std::int64_t steps = total_steps(options, train_set.size(), group.size());
  const double base_rate = optimizer.learning_rate();
  const DType dtype = model.parameters().front()->value.dtype();
  Device& device = model.parameters().front()->value.device();

  Summary summary;
  summary.replicas_equal = true;
  double training_s = 0, samples_seen = 0;
  const Stopwatch run;
  std::int64_t step = 0;
  for (int epoch = 0; step < steps; ++epoch) {
    const auto order = data::distributed_indices(
        {train_set.size(), group.rank(), group.size(), options.seed, epoch});
    double loss_sum = 0, epoch_samples = 0;
    for (std::span<const std::int64_t> left = order; !left.empty() && step < steps; ++step) {
      const Stopwatch watch;
      const auto mine =
          left.first(std::min(left.size(), static_cast<std::size_t>(options.batch_size)));
      left = left.subspan(mine.size());
      optimizer.set_learning_rate(rate_at(step, base_rate, steps, options));

      const std::int64_t sent_before = group.traffic().bytes_sent;
      const double my_loss = data_parallel::data_parallel_step(
          group, model, optimizer, train_set.batch(mine, dtype, device), options.clip_norm);
      const std::int64_t sent = group.traffic().bytes_sent - sent_before;
      const double loss = mean_over(group, my_loss, device);
      if (!std::isfinite(loss)) {
        throw Error(text("the loss became ", std::isnan(loss) ? "nan" : "infinite", " at step ",
                         step + 1,
                         ": the steps are too large; pass a smaller --lr, a --warmup or --clip 1"));
      }

      const auto samples = static_cast<double>(mine.size()) * group.size();
      const double seconds = watch.seconds();
      loss_sum += loss * samples;
      epoch_samples += samples;
      training_s += seconds;
      for (Observer* observer : observers) {
        observer->on_step(
            {step + 1, steps, epoch + 1, loss, samples / seconds, run.seconds(), sent});
      }
    }
    samples_seen += epoch_samples;

    const Evaluation test = evaluate(group, model, test_set);
    const auto hashes = gather_hashes(group, model);
    summary.test_accuracy = test.accuracy;
    summary.replicas_equal = summary.replicas_equal && all_equal(hashes);
    for (Observer* observer : observers) {
      observer->on_epoch(
          {epoch + 1, loss_sum / epoch_samples, test.loss, test.accuracy, hashes, run.seconds()});
    }
  }
  optimizer.set_learning_rate(base_rate);
  summary.seconds = run.seconds();
  summary.samples_per_s = training_s > 0 ? samples_seen / training_s : 0;
  for (Observer* observer : observers) observer->on_end(summary);
  return summary;
}

}  // namespace lockstep::train
