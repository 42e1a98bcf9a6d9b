#include "engine/train/loop.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "engine/base/stopwatch.hpp"
#include "engine/base/units.hpp"
#include "engine/data/distributed_sampler.hpp"
#include "engine/data/loader.hpp"
#include "engine/train/evaluate.hpp"

namespace lockstep::train {
namespace {

// A share's samples of an epoch's order from place `taken` on: dealt out like cards, and padded, if
// they are to be, with the order's head so that all shares have as many. From the first place on
// that is distributed_indices' own dealing.
std::vector<std::int64_t> deal(const data::SamplerOptions& share, std::int64_t taken, Deal how) {
  if (taken == 0 && how == Deal::padded) return data::distributed_indices(share);
  data::SamplerOptions of_all = share;
  of_all.rank = 0;
  of_all.ranks = 1;
  const auto order = data::distributed_indices(of_all);
  std::vector<std::int64_t> mine;
  for (std::int64_t first = taken; first < share.length; first += share.ranks) {
    if (how == Deal::uneven && first + share.rank >= share.length) break;
    mine.push_back(order[static_cast<std::size_t>((first + share.rank) % share.length)]);
  }
  return mine;
}

std::unique_ptr<data::Loader> make_loader(Strategy& strategy, const data::Dataset& dataset,
                                          Strands& strands, const TrainOptions& options) {
  data::Sampler sampler = [&dataset, start = options.start, seed = options.seed, how = options.deal,
                           position = strategy.position()](int epoch) {
    return deal({dataset.size(), position.share, position.shares, seed, epoch},
                epoch == start.epoch ? start.taken : 0, how);
  };
  const data::LoaderOptions of_loader{.batch_size = options.batch_size,
                                      .workers = options.workers,
                                      .prefetch = 2 * std::max(options.workers, 1),
                                      .dtype = strategy.dtype()};
  Device& device = strategy.device();
  if (options.workers == 0) {
    return data::make_plain_loader(dataset, std::move(sampler), of_loader, device);
  }
  return data::make_prefetching_loader(dataset, std::move(sampler), of_loader, device, strands);
}

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Steps that `places` of an order make.
std::int64_t steps_in(std::int64_t places, const TrainOptions& options, int shares) {
  const std::int64_t batches = divided_up(divided_up(places, shares), options.batch_size);
  return divided_up(batches, options.accumulate);
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

// The largest of the trainers' numbers, on each of them.
int largest_of(comm::ProcessGroup& group, int mine, Device& host) {
  if (group.size() == 1) return mine;
  const Tensor all = full({1}, mine, DType::float64, host);
  group.all_reduce(all, ReduceOp::max);
  return static_cast<int>(all.item());
}

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

// The samples that all shares together take in one step, of which share d has `mine`.
std::int64_t samples_of(const std::vector<data::Batch>& mine, const Position& at,
                        std::int64_t samples, int shares, const TrainOptions& options) {
  if (options.deal == Deal::uneven) {
    return std::min(options.batch_size * options.accumulate * shares, samples - at.taken);
  }
  std::int64_t of_share = 0;
  for (const data::Batch& batch : mine) of_share += batch.inputs.size(0);
  return of_share * shares;
}

std::string not_a_number(double loss, const Position& at, const Position& start) {
  const std::string what = text("the loss became ", std::isnan(loss) ? "nan" : "infinite",
                                " at step ", at.step + 1, ": ");
  if (at.step > start.step) {
    return what + "the steps are too large; pass a smaller --lr, a --warmup or --clip 1";
  }
  return what +
         "this run has not taken a step yet, so --lr is not the cause; look at what the first pass "
         "reads and computes with: the weights of --init or --resume, the data, a part that is not "
         "the reference's, or a --dtype of 16 bits";
}

// The loss of a step is from before its update. `what` was found after step `step`; after `finite`,
// all was well.
std::string told_of(const std::string& what, std::int64_t finite, std::int64_t step, double rate) {
  return text(
      "after step ", step, ", ", what, ". The update of step ", step, " made it so",
      step - finite > 1 ? text(", or one since step ", finite) : "",
      finite == 0 ? ", or the weights that it began with (--init)" : "",
      ": the loss was finite, but gradients or the update overflowed at a learning rate of ", rate,
      "; pass a smaller --lr, a --warmup or --clip 1. It is not saved");
}

}  // namespace

std::int64_t total_steps(const TrainOptions& options, std::int64_t samples, int shares) {
  LOCKSTEP_CHECK(options.batch_size >= 1 && options.accumulate >= 1 && options.epochs >= 0 &&
                     options.steps >= 0,
                 "train: batch size ", options.batch_size, ", ", options.accumulate,
                 " batches a step, epochs ", options.epochs, ", steps ", options.steps,
                 "; none can be negative, a step has a batch, and a batch has a sample");
  const Position& start = options.start;
  LOCKSTEP_CHECK(start.step >= 0 && start.epoch >= 0 && start.taken >= 0 && start.taken < samples,
                 "train: a run cannot go on from step ", start.step, ", epoch ", start.epoch,
                 ", place ", start.taken, " of ", samples);
  // Divided, not multiplied: shares · batch_size may be more than 64 bits hold.
  if (options.batch_size > samples / shares) {
    throw UsageError(text("a batch of ", counted(options.batch_size, "sample"), " on each of ",
                          counted(shares, "rank"), " is more than the ", samples,
                          " samples of the data; ", "pass --batch-size ",
                          std::max<std::int64_t>(samples / shares, 1), " or less"));
  }
  if (options.steps > 0) return options.steps;
  if (options.epochs <= start.epoch) return start.step;
  return start.step + steps_in(samples - start.taken, options, shares) +
         (options.epochs - start.epoch - 1) * steps_in(samples, options, shares);
}

double rate_at(std::int64_t step, std::int64_t steps, double base, int shares,
               const TrainOptions& options) {
  optim::Schedule schedule{
      .decay = options.decay, .base = base, .warmup = options.warmup, .total = steps};
  if (!options.scaling) return optim::learning_rate_at(step, schedule);
  const optim::ScaledRate scaled{.base = base,
                                 .base_batch = options.base_batch,
                                 .batch = options.batch_size,
                                 .ranks = shares,
                                 .accumulate = options.accumulate,
                                 .scaling = *options.scaling,
                                 .warmup = options.warmup};
  if (step < options.warmup) return optim::lr_at(step, scaled);
  schedule.base = optim::lr_at(options.warmup, scaled);
  return optim::learning_rate_at(step, schedule);
}

std::vector<std::int64_t> batch_sizes(const TrainOptions& options, std::int64_t samples,
                                      int shares) {
  std::vector<std::int64_t> sizes{options.batch_size};
  const bool ends = total_steps(options, samples, shares) >= steps_in(samples, options, shares);
  const std::int64_t last = divided_up(samples, shares) % options.batch_size;
  if (ends && last > 0) sizes.push_back(last);
  return sizes;
}

Summary train(Strategy& strategy, const data::Dataset& train_set, const data::Dataset& test_set,
              const TrainOptions& options, std::span<Observer* const> observers) {
  const RankPosition position = strategy.position();
  if (position.role != Role::train) {
    if (position.role == Role::serve) strategy.serve();
    Summary summary;
    summary.replicas_equal = true;
    return summary;
  }
  comm::ProcessGroup& group = strategy.trainers();
  Device& device = strategy.device();
  std::int64_t steps = total_steps(options, train_set.size(), position.shares);

  const auto threads = make_thread_strands();
  Strands& strands = options.strands != nullptr ? *options.strands : *threads;
  const auto loader = make_loader(strategy, train_set, strands, options);
  PhaseWatch* const phases = options.phases;
  strategy.set_phase_watch(phases);

  Summary summary;
  summary.replicas_equal = true;
  if (!device.has_numbers()) summary.test_accuracy = std::numeric_limits<double>::quiet_NaN();
  double training_s = 0, samples_seen = 0, rate = 0;
  const Times run(group);
  Position at = options.start;
  std::int64_t finite = at.step;
  const auto looking = [&](const auto& act) {
    try {
      act();
      finite = at.step;
    } catch (const NotFinite& found) {
      throw NotFinite(told_of(found.what(), finite, at.step, rate));
    }
  };
  while (at.step < steps) {
    double loss_sum = 0, epoch_samples = 0;
    bool saves = false, evaluates = false;  // after the step that was taken last
    const std::int64_t epoch = at.epoch;
    loader->start(static_cast<int>(epoch));
    while (at.step < steps && at.epoch == epoch) {
      const double began = group.now_s();
      if (phases != nullptr) phases->enter(Phase::data);
      const std::vector<data::Batch> mine = next_batches(*loader, options.accumulate);
      LOCKSTEP_CHECK(options.deal == Deal::uneven || !mine.empty(),
                     "train: the loader ended epoch ", epoch + 1, " after ", at.taken, " of ",
                     train_set.size(), " samples");
      rate = rate_at(at.step, steps, strategy.rate(), position.shares, options);
      const double loss = strategy.step(
          mine, {nn::Mode::training, options.seed, at.step, position.share, position.shares}, rate);
      if (phases != nullptr) phases->enter(Phase::other);
      if (device.has_numbers() && !std::isfinite(loss)) {
        throw Error(not_a_number(loss, at, options.start));
      }

      const std::int64_t samples = samples_of(mine, at, train_set.size(), position.shares, options);
      const double seconds = group.now_s() - began;
      loss_sum += loss * static_cast<double>(samples);
      epoch_samples += static_cast<double>(samples);
      training_s += seconds;
      const Cost cost = strategy.cost();
      summary.communication += cost.communication;
      if (cost.stages && at.step > options.start.step) {  // not the first
        StageTimes all = summary.stages.value_or(StageTimes{});
        all.busy_s += cost.stages->busy_s;
        all.span_s += cost.stages->span_s;
        summary.stages = all;
      }
      if (cost.routing) {
        const nn::Routing before = std::exchange(summary.routing, *cost.routing);
        summary.routing.choices += before.choices;
        summary.routing.dropped += before.dropped;
      }
      ++at.step;
      if (options.told_to_stop && at.step < steps) {
        summary.stopped_by = largest_of(group, options.told_to_stop(), device.host());
        if (summary.stopped_by != 0) steps = at.step;
      }
      at.taken += samples;
      if (at.taken >= train_set.size()) at = {at.step, at.epoch + 1, 0};
      if (at.step == steps || at.epoch > epoch) strategy.end_epoch();
      for (Observer* observer : observers) {
        observer->on_step({at.step, steps, epoch + 1, loss, static_cast<double>(samples) / seconds,
                           run.seconds(), cost.bytes_sent, cost.communication, run.wall_seconds(),
                           cost.staleness, cost.stages, cost.host, cost.exchange, cost.routing});
      }
      const bool last = at.step == steps;
      if (last) strategy.settle();
      saves =
          options.save && (last || (options.save_every > 0 && at.step % options.save_every == 0));
      evaluates = (last || at.epoch > epoch) && device.has_numbers() && summary.stopped_by == 0;
      if (saves && !evaluates) looking([&] { options.save(at); });
    }
    samples_seen += epoch_samples;
    if (!evaluates) continue;

    Agreement agreement;
    Evaluation test;
    looking([&] {
      agreement = compare(group, strategy.pieces());
      test = strategy.evaluate(test_set);
      const bool knows = position.reporter >= 0;  // or it trains apart from who evaluates
      if (knows && !std::isfinite(test.loss)) throw NotFinite("the test loss is not finite");
      if (saves) options.save(at);
    });
    summary.test_accuracy = test.accuracy;
    summary.replicas_equal = summary.replicas_equal && agreement.differs < 0;
    for (Observer* observer : observers) {
      observer->on_epoch({epoch + 1, loss_sum / epoch_samples, test.loss, test.accuracy, agreement,
                          run.seconds(), run.wall_seconds()});
    }
  }
  strategy.end();
  if (summary.stopped_by != 0) summary.test_accuracy = std::numeric_limits<double>::quiet_NaN();
  summary.asynchrony = strategy.asynchrony();
  summary.seconds = run.seconds();
  summary.wall_seconds = run.wall_seconds();
  summary.samples_per_s = training_s > 0 ? samples_seen / training_s : 0;
  for (Observer* observer : observers) observer->on_end(summary);
  return summary;
}

}  // namespace lockstep::train
