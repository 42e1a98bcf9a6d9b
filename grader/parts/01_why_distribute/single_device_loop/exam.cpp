// The exam of single_device_loop. The judge serves the batches, so it knows itself which epochs
// were read and how far; it trains the same model with them, and compares every parameter and every
// epoch's loss. Nothing a player could know tells it the samples before it has asked for them.
#include "grader/parts/01_why_distribute/single_device_loop/case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "grader/judge/bench.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/01_why_distribute/single_device_loop/oracle.hpp"

namespace lockstep::grader::single_device_loop {
namespace {

using Problem = LoopProblem;
using Samples = LoopSamples;
using Way = LoopWay;
using Mean = LoopMean;
using Trained = LoopTrained;

class BatchService final : public sim::Service {
 public:
  BatchService(const Problem& p, std::uint64_t salt) : problem_(p), salt_(salt) {}

  struct Epoch {
    int number;
    std::size_t served = 0;  // batches
  };
  const std::vector<Epoch>& epochs() const { return epochs_; }  // in the order they were begun

  std::string_view name() const override { return loader_service; }
  std::optional<Answer> serve(const sim::Actor&, const sim::Request& request, double now) override {
    ByteReader in(request.data.bytes);
    if (in.get<LoaderCall>() == LoaderCall::start) {
      epochs_.push_back({in.get<int>()});
      batches_ = batches_of(problem_, salt_, epochs_.back().number);
      return Answer{{}, now};
    }
    Samples batch;
    if (!epochs_.empty() && epochs_.back().served < batches_.size()) {
      batch = batches_[epochs_.back().served++];
    }
    ByteWriter out;
    out.put_list(std::span<const double>(batch.inputs));
    out.put_list(std::span<const std::int64_t>(batch.labels));
    return Answer{sim::payload_of(out.take()), now};
  }

 private:
  Problem problem_;
  std::uint64_t salt_;
  std::vector<Epoch> epochs_;
  std::vector<Samples> batches_;
};

// One device adds the losses of an epoch in float64, in any order.
std::vector<double> tolerance_of_losses(const Problem& p, std::span<const double> expected) {
  const double relative = p.dtype == DType::float64 ? 1e-9 : 1e-3;
  std::vector<double> tolerance;
  for (double value : expected) tolerance.push_back(relative * std::max(1.0, std::fabs(value)));
  return tolerance;
}

std::vector<double> tolerance_of(const Problem& p, std::span<const double> expected) {
  // As in the exam of data_parallel_step: rounding of some twenty steps, magnified by Adam, is far
  // below 1e-6 in float64 and 1e-3 in float32.
  const double relative = p.dtype == DType::float64 ? 1e-6 : 1e-3;
  std::vector<double> tolerance;
  for (double value : expected) tolerance.push_back(relative * std::max(1.0, std::fabs(value)));
  return tolerance;
}

bool equal(const Problem& p, std::span<const double> seen, std::span<const double> expected) {
  return !first_difference(seen, expected, tolerance_of(p, expected));
}

struct Cause {
  std::string name, sentence;
};

struct Play {
  const Problem& problem;
  std::uint64_t salt, model_seed;

  Trained trained(Way way, Mean mean) const { return train(problem, salt, model_seed, way, mean); }
};

Cause cause_of_parameters(const Play& play, std::span<const double> seen) {
  const auto is = [&](Way way) {
    return equal(play.problem, seen, play.trained(way, Mean::over_samples).parameters);
  };
  if (!std::all_of(seen.begin(), seen.end(), [](double v) { return std::isfinite(v); })) {
    return {"no_number", "this value is not finite; the training diverged"};
  }
  if (is(Way::unmoved)) {
    return {"unmoved",
            "no parameter moved: no step was taken, or no step found a gradient (zero_grad between "
            "backward and step removes it)"};
  }
  if (is(Way::no_zero)) {
    return {"not_zeroed",
            "backward adds to existing gradients, and those of the earlier batches were still "
            "there: zero the gradients for every batch"};
  }
  if (is(Way::step_before_backward)) {
    return {"step_before_backward",
            "the optimizer stepped before backward, so it used the previous batch's gradient"};
  }
  if (is(Way::step_once_an_epoch)) {
    return {"step_once_an_epoch", "there was one update per epoch; every batch needs its own"};
  }
  if (is(Way::last_batch_left_out)) {
    return {"last_batch_left_out", "the last batch of each epoch was read but not trained on"};
  }
  if (is(Way::steps_twice)) {
    return {"steps_twice", "the optimizer stepped twice for each batch"};
  }
  if (is(Way::even_batches_only) || is(Way::odd_batches_only)) {
    return {"every_second_batch",
            "every second batch was read but not trained on: each call of next() takes a batch. "
            "Call next() once, in the loop's condition, and keep the batch it returns"};
  }
  return {"other_parameters",
          "zero, forward, loss, backward and step ran in another order, or the update is not the "
          "optimizer's"};
}

Cause cause_of_losses(const Play& play, std::span<const double> seen) {
  const auto is = [&](Mean mean) {
    return equal(play.problem, seen, play.trained(Way::right, mean).losses);
  };
  if (is(Mean::over_samples)) {
    return {"rounded_losses",
            "this is right to seven digits: the losses were added or stored as float; use double"};
  }
  if (is(Mean::over_batches)) {
    return {"mean_of_means",
            "this is the mean of the batch means, which gives the short last batch the weight of a "
            "full one; weight each batch by its samples"};
  }
  if (is(Mean::last_batch)) return {"last_batch", "this is the loss of the last batch alone"};
  if (is(Mean::first_batch)) return {"first_batch", "this is the loss of the first batch alone"};
  if (is(Mean::sum_of_batches)) {
    return {"sum_of_batches",
            "this is the sum of the batch losses; the contract asks for their mean"};
  }
  if (is(Mean::over_all_epochs)) {
    return {"over_all_epochs",
            "the sums carried over from the previous epoch; each epoch starts its own"};
  }
  if (is(Mean::after_the_update)) {
    return {"after_the_update",
            "this is the loss after the update; the contract asks for the loss that backward "
            "started from"};
  }
  return {"other_losses", "this is not the mean over exactly the epoch's samples"};
}

// What the judge saw itself while it served.
std::optional<Failure> reading_failure(const Play& play, const BatchService& service) {
  const Problem& p = play.problem;
  Failure failure;
  std::string begun;
  for (const auto& epoch : service.epochs()) begun += text(begun.empty() ? "" : ", ", epoch.number);
  const auto all = static_cast<std::size_t>((p.samples + p.batch - 1) / p.batch);
  for (int epoch = 0; epoch < p.epochs; ++epoch) {
    const auto at = static_cast<std::size_t>(epoch);
    if (at < service.epochs().size() && service.epochs()[at].number == epoch) continue;
    failure.cause = "other_epochs";
    failure.expected = p.epochs == 1 ? "epoch 0" : text("each epoch from 0 to ", p.epochs - 1);
    failure.seen = begun.empty() ? "no epoch" : text("epoch ", begun);
    if (service.epochs().size() == at && epoch >= 2) {
      const auto losses = play.trained(Way::right, Mean::over_samples).losses;
      if (losses[at - 1] > losses[at - 2]) {
        failure.cause = "stopped_at_a_rise";
        failure.message = text(
            "the loop started only epoch ", begun, " where ", failure.expected,
            " was expected; likely cause: the loop ended "
            "after epoch ",
            epoch - 1, " because its mean loss rose; `epochs` alone sets the number of epochs");
        return failure;
      }
    }
    if (service.epochs().size() == at && at > 0) {
      failure.cause = "stopped_early";
      failure.message =
          text("the loop started only epoch ", begun, " where ", failure.expected,
               " was expected; likely cause: the loop ended after epoch ", epoch - 1,
               ", or start() was not called again; `epochs` alone sets the number of epochs");
      return failure;
    }
    failure.message = text("the loader was told to start ", failure.seen, " where ",
                           failure.expected, " was expected; likely cause: ",
                           service.epochs().size() <= at
                               ? "every epoch needs its own start(), or the loop ran too few epochs"
                               : "start() needs the epoch's number, counted from 0; with one "
                                 "number for all, every epoch has the same order");
    return failure;
  }
  if (std::cmp_greater(service.epochs().size(), p.epochs)) {
    failure.cause = "other_epochs";
    failure.message = text("the loader was told to start ", service.epochs().size(),
                           " epochs where ", p.epochs, " were asked for: ", begun);
    return failure;
  }
  for (const auto& epoch : service.epochs()) {
    if (epoch.served == all) continue;
    failure.cause = "not_read_to_the_end";
    failure.expected = text(all, " batches");
    failure.seen = text(epoch.served, " batches");
    failure.message = text("in epoch ", epoch.number, ", ", epoch.served, " of ", all,
                           " batches were read; likely cause: the loop over batches ends too soon; "
                           "it must run until next() returns nothing");
    return failure;
  }
  return std::nullopt;
}

std::string shown(std::span<const double> values, std::size_t at) {
  return at < values.size() ? number(values[at]) : "nothing";
}

void compare(Bench& bench, const Played& played, const Play& play, const BatchService& service) {
  const Problem& p = play.problem;
  if (auto failure = reading_failure(play, service)) bench.fail(played, std::move(*failure));

  const Trained expected = play.trained(Way::right, Mean::over_samples);
  ByteReader& result = played.results->of(0);
  const auto losses = result.get_list<double>();
  std::vector<double> parameters;
  while (!result.done()) {
    for (double value : as_doubles(p.dtype, result.get_bytes())) parameters.push_back(value);
  }
  Failure failure;
  if (const auto at =
          first_difference(parameters, expected.parameters, tolerance_of(p, expected.parameters))) {
    const auto [cause, sentence] = cause_of_parameters(play, parameters);
    failure.cause = cause;
    failure.expected = shown(expected.parameters, *at);
    failure.seen = shown(parameters, *at);
    failure.where = text("parameter element ", *at);
    failure.message = text("after ", p.epochs, p.epochs == 1 ? " epoch" : " epochs",
                           ", parameter element ", *at, " is ", failure.seen, " where ",
                           failure.expected, " was expected; likely cause: ", sentence);
    bench.fail(played, std::move(failure));
  }
  if (losses.size() != expected.losses.size()) {
    failure.cause = "other_number_of_losses";
    failure.expected = text(expected.losses.size(), " losses");
    failure.seen = text(losses.size(), " losses");
    failure.message = text("the parameters are right, but it returned ", losses.size(),
                           " losses where each of the ", p.epochs, " epochs has one");
    bench.fail(played, std::move(failure));
  }
  if (const auto at =
          first_difference(losses, expected.losses, tolerance_of_losses(p, expected.losses))) {
    const auto [cause, sentence] = cause_of_losses(play, losses);
    failure.cause = cause;
    failure.expected = shown(expected.losses, *at);
    failure.seen = shown(losses, *at);
    failure.where = text("epoch ", *at);
    failure.message =
        text("the parameters are right, but the loss of epoch ", *at, " is ", failure.seen,
             " where ", failure.expected, " was expected; likely cause: ", sentence);
    bench.fail(played, std::move(failure));
  }
}

// Whether the loss of an epoch rises before the last one.
bool rises(const Play& play) {
  const auto losses = play.trained(Way::right, Mean::over_samples).losses;
  for (std::size_t epoch = 1; epoch + 1 < losses.size(); ++epoch) {
    if (losses[epoch] > losses[epoch - 1]) return true;
  }
  return false;
}

void play(Bench& bench, const Problem& p) {
  std::uint64_t salt = bench.draw();
  const std::uint64_t model_seed = bench.draw() >> 32;
  while (p.turning && !rises({p, salt, model_seed})) ++salt;
  BatchService service(p, salt);
  LoopCase c;
  c.dtype = p.dtype;
  c.optimizer = p.optimizer;
  c.model_seed = model_seed;
  c.widths = {width, 8, classes};
  c.epochs = p.epochs;
  const auto played = bench.play({.description = p.description(),
                                  .inputs = {encode(c)},
                                  .schedule_seed = 0,
                                  .network = {},
                                  .services = {&service}});
  if (played) compare(bench, *played, {p, salt, model_seed}, service);
}

}  // namespace

Exam exam() {
  return {
      {"in one epoch every batch is trained on once, with its own gradient",
       [](Bench& bench) {
         play(bench, {.samples = 20, .batch = 5, .epochs = 1});
         play(bench, {.samples = 4, .batch = 4, .epochs = 1});
       }},
      {"each of several epochs has its own order and its own mean loss",
       [](Bench& bench) {
         play(bench, {.samples = 20, .batch = 5, .epochs = 3});
         play(bench, {.samples = 9, .batch = 1, .epochs = 2});
         play(bench, {.samples = 24, .batch = 4, .epochs = 4, .turning = true});
         play(bench, {.samples = 24, .batch = 4, .epochs = 8, .easy = true});
       }},
      {"a short last batch is trained on and weighted by its samples",
       [](Bench& bench) {
         play(bench, {.samples = 23, .batch = 10, .epochs = 2});
         play(bench, {.samples = 3, .batch = 10, .epochs = 2});
       }},
      {"Adam sees one gradient per batch",
       [](Bench& bench) { play(bench, {.optimizer = OptimizerKind::adam}); }},
      {"float32 parameters train the same way",
       [](Bench& bench) { play(bench, {.epochs = 2, .dtype = DType::float32}); }},
      {"zero epochs change nothing", [](Bench& bench) { play(bench, {.epochs = 0}); }},
  };
}

}  // namespace lockstep::grader::single_device_loop
