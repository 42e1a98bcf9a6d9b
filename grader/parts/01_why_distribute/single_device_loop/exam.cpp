// The exam of single_device_loop. The judge serves the batches, so it knows itself which epochs
// were read and how far; it trains the same model with them, and compares every parameter and every
// epoch's loss. Nothing a player could know tells it the samples before it has asked for them.
#include "grader/parts/01_why_distribute/single_device_loop/case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/units.hpp"
#include "grader/exam/ranks/checks.hpp"
#include "grader/exam/ranks/reported_service.hpp"
#include "grader/exam/ranks/training_rules.hpp"
#include "grader/judge/compare.hpp"
#include "grader/parts/01_why_distribute/single_device_loop/oracle.hpp"

namespace lockstep::grader::single_device_loop {
namespace {

using Problem = LoopProblem;
using Trained = LoopTrained;

class BatchService final : public TypedService<LoaderCall> {
 public:
  BatchService(const Problem& p, std::uint64_t salt) : problem_(p), salt_(salt) {}

  struct Epoch {
    int number;
    std::size_t served = 0;  // batches
  };
  const std::vector<Epoch>& epochs() const { return epochs_; }  // in the order they were begun

 private:
  std::optional<Answer> answer(const sim::Actor&, LoaderCall call, double now) override {
    SampleValues batch;
    if (call.start) {
      epochs_.push_back({*call.start});
      batches_ = batches_of(problem_, salt_, *call.start);
    } else if (!epochs_.empty() && epochs_.back().served < batches_.size()) {
      batch = batches_[epochs_.back().served++];
    }
    return answer_with(batch, now);
  }

  Problem problem_;
  std::uint64_t salt_;
  std::vector<Epoch> epochs_;
  std::vector<SampleValues> batches_;
};

struct Play {
  const Problem& problem;
  std::uint64_t salt;

  Trained trained() const { return train(problem, salt); }
};

Cause cause_of_parameters(const Play& play, std::span<const double> seen) {
  if (std::ranges::equal(seen, beginning_of(play.problem, play.salt))) {
    return {"unmoved",
            "no parameter moved: no step was taken, or no step found a gradient (zero_grad between "
            "backward and step removes it)"};
  }
  return {"other_parameters",
          "zero, forward, loss, backward and step ran in another order, or the update is not the "
          "optimizer's"};
}

// The epochs that were begun are not those that were asked for: at `epoch` they part.
Failure other_epochs(const Play& play, const BatchService& service, int epoch) {
  const Problem& p = play.problem;
  const auto at = static_cast<std::size_t>(epoch);
  std::string begun;
  for (const auto& one : service.epochs()) begun += text(begun.empty() ? "" : ", ", one.number);
  const std::string expected =
      p.epochs == 1 ? "epoch 0" : text("each epoch from 0 to ", p.epochs - 1);
  const std::string seen = begun.empty() ? "no epoch" : text("epoch ", begun);
  if (service.epochs().size() != at || epoch == 0) {
    const char* why = service.epochs().size() <= at
                          ? "every epoch needs its own start(), or the loop ran too few epochs"
                          : "start() needs the epoch's number, counted from 0; with one number for "
                            "all, every epoch has the same order";
    return because({"other_epochs", why}, {.message = text("the loader was told to start ", seen,
                                                           " where ", expected, " was expected"),
                                           .expected = expected,
                                           .seen = seen});
  }
  Cause cause{"stopped_early", text("the loop ended after epoch ", epoch - 1,
                                    ", or start() was not called again; `epochs` alone sets the "
                                    "number of epochs")};
  if (epoch >= 2) {
    const auto losses = play.trained().losses;
    if (losses[at - 1] > losses[at - 2]) {
      cause = {"stopped_at_a_rise",
               text("the loop ended after epoch ", epoch - 1,
                    " because its mean loss rose; `epochs` alone sets the number of epochs")};
    }
  }
  return because(cause, {.message = text("the loop started only epoch ", begun, " where ", expected,
                                         " was expected"),
                         .expected = expected,
                         .seen = seen});
}

// The failure by what the judge saw itself while it served.
std::optional<Failure> reading_failure(const Play& play, const BatchService& service) {
  const Problem& p = play.problem;
  const auto all = static_cast<std::size_t>((p.samples + p.batch - 1) / p.batch);
  for (int epoch = 0; epoch < p.epochs; ++epoch) {
    const auto at = static_cast<std::size_t>(epoch);
    if (at < service.epochs().size() && service.epochs()[at].number == epoch) continue;
    return other_epochs(play, service, epoch);
  }
  if (std::cmp_greater(service.epochs().size(), p.epochs)) {
    std::string begun;
    for (const auto& one : service.epochs()) begun += text(begun.empty() ? "" : ", ", one.number);
    return Failure{
        .cause = "other_epochs",
        .message =
            text("the loader was told to start ", counted(std::ssize(service.epochs()), "epoch"),
                 " where ", p.epochs, p.epochs == 1 ? " was" : " were", " asked for: ", begun)};
  }
  for (const auto& epoch : service.epochs()) {
    if (epoch.served == all) continue;
    return because(
        {"not_read_to_the_end",
         "the loop over batches ends too soon; it must run until next() returns nothing"},
        {.message = text("in epoch ", epoch.number, ", ", epoch.served, " of ",
                         counted(static_cast<std::int64_t>(all), "batch"),
                         epoch.served == 1 ? " was read" : " were read"),
         .expected = counted(static_cast<std::int64_t>(all), "batch"),
         .seen = counted(static_cast<std::int64_t>(epoch.served), "batch")});
  }
  return std::nullopt;
}

void compare(CaseRunner& runner, const Played& played, const Problem& p, std::uint64_t salt,
             const std::vector<LoopReport>& reports, const BatchService& service) {
  const Play play{p, salt};
  if (auto failure = reading_failure(play, service)) runner.fail(played, std::move(*failure));

  const Trained right = play.trained();
  const std::vector<double>& losses = reports.front().losses;
  const auto parameters = as_doubles(p.dtype, reports.front().parameters);
  const auto check = [&](std::span<const double> seen, std::span<const double> wanted,
                         const auto& name, const std::string& where, const auto& cause) {
    check_numbers(runner, played, seen,
                  {.dtype = p.dtype,
                   .values = wanted,
                   .tolerance = digits_tolerance(p.dtype, p.optimizer, wanted),
                   .name = name,
                   .where = where,
                   .cause = [&](std::size_t) { return cause(); }});
  };
  check(
      parameters, right.parameters,
      [&](std::size_t at) {
        return text("after ", counted(p.epochs, "epoch"), ", parameter element ", at);
      },
      "the parameters", [&] { return cause_of_parameters(play, parameters); });
  if (losses.size() != right.losses.size()) {
    runner.fail(played, {.cause = "other_number_of_losses",
                         .message = text("the parameters are right, but it returned ",
                                         counted(std::ssize(losses), "loss"), " for ",
                                         counted(p.epochs, "epoch")),
                         .expected = counted(std::ssize(right.losses), "loss"),
                         .seen = counted(std::ssize(losses), "loss")});
  }
  check(
      losses, right.losses,
      [](std::size_t at) { return text("the parameters are right, but the loss of epoch ", at); },
      "the losses",
      [] {
        return Cause{"other_losses", "this is not the mean over exactly the epoch's samples"};
      });
}

// True if the loss of an epoch rises before the last one.
bool rises(const Play& play) {
  const auto losses = play.trained().losses;
  for (std::size_t epoch = 1; epoch + 1 < losses.size(); ++epoch) {
    if (losses[epoch] > losses[epoch - 1]) return true;
  }
  return false;
}

const RanksContract<Problem, LoopCase, LoopReport, BatchService> contract{
    .case_of =
        [](const Problem& p, std::uint64_t salt, int) {
          return LoopCase{p.dtype, p.optimizer, model_seed(salt), {width, 8, classes}, p.epochs};
        },
    .compare = compare,
    .ask_of =
        [](const Problem& p, std::uint64_t salt, int, const LoopCase&, Situations& asked) {
          for (const auto& batch : batches_of(p, salt, 0)) ask_of_values(batch.inputs, asked);
          if (p.dtype == DType::float64) asked.insert(Situation::double_digits);
        },
    .smaller = smaller_by(down_to(&Problem::epochs, 1), down_to(&Problem::samples, 1),
                          one_less(&Problem::samples)),
    .services = [](CaseRunner&, const Problem& p,
                   std::uint64_t salt) { return std::tuple(BatchService(p, salt)); }};

const RanksChecks checks(contract);

void loss_that_rises(CaseRunner& runner) {
  const Problem p{.samples = 24, .batch = 4, .epochs = 4, .turning = true};
  std::uint64_t salt = runner.draw();
  while (!rises({p, salt})) ++salt;
  play(runner, contract, p, salt);
}

}  // namespace

Exam exam() {
  return {
      {"in one epoch every batch is trained on once, with its own gradient",
       checks.these({{.samples = 20, .batch = 5, .epochs = 1},
                     {.samples = 4, .batch = 4, .epochs = 1},
                     {.samples = 1, .batch = 4, .epochs = 1}})},
      {"each of several epochs has its own order and its own mean loss",
       in_turn(checks.these({{.samples = 20, .batch = 5, .epochs = 3},
                             {.samples = 9, .batch = 1, .epochs = 2},
                             {.samples = 24, .batch = 4, .epochs = 8, .easy = true}}),
               loss_that_rises, checks.twice(1))},
      {"a short last batch is trained on and weighted by its samples",
       checks.these(
           {{.samples = 23, .batch = 10, .epochs = 2}, {.samples = 3, .batch = 10, .epochs = 2}})},
      {"Adam sees one gradient per batch",
       checks.on({1}, with(&Problem::optimizer, OptimizerKind::adam))},
      {"float32 parameters train the same way", checks.types({DType::float32}, 1)},
      {"NaN and infinity in a batch show in the parameters and in the losses",
       checks.odd_values(1, with(&Problem::epochs, 2))},
      {"zero epochs change nothing", checks.on({1}, with(&Problem::epochs, 0))},
  };
}

}  // namespace lockstep::grader::single_device_loop
