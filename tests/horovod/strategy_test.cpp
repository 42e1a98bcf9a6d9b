// Training with --horovod: the losses of one rank, clipping, several batches a step, checkpoints.
#include <array>
#include <filesystem>

#include "engine/base/temporary_folder.hpp"
#include "engine/train/loop.hpp"
#include "engine/train/make_strategy.hpp"
#include "tests/catch.hpp"
#include "tests/horovod/ranks.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::on_sim;

namespace {

struct Losses final : train::Observer {
  std::vector<double> steps;
  std::vector<train::EpochReport> epochs;
  void on_step(const train::StepReport& report) override { steps.push_back(report.loss); }
  void on_epoch(const train::EpochReport& report) override { epochs.push_back(report); }
  void on_end(const train::Summary&) override {}
};

struct Task {
  int ranks = 1;
  train::Way reduction = train::Way::horovod;
  optim::OptimizerKind optimizer = optim::OptimizerKind::sgd;
  double clip_norm = 0;
  train::TrainOptions options{};
  std::filesystem::path folder{};  // of checkpoints; empty: none
};

train::Recipe recipe_of(const Task& task, int rank) {
  train::Recipe recipe;
  recipe.model.widths = {16, 24, 12, 5};
  recipe.model.dtype = DType::float64;
  recipe.optimizer.kind = task.optimizer;
  recipe.optimizer.sgd = {.learning_rate = 0.05, .momentum = 0.9};
  recipe.seed = task.reduction == train::Way::horovod ? 3 + static_cast<std::uint64_t>(rank) : 3;
  return recipe;
}

void save_into(const std::filesystem::path& folder, train::Strategy& strategy,
               std::string_view optimizer, const train::Position& at) {
  const auto contents = train::gather_contents(strategy.trainers(), strategy.place().reporter,
                                               strategy.pieces(), strategy.device(), optimizer);
  if (strategy.trainers().rank() != strategy.place().reporter) return;
  checkpoint::save(folder, contents, {.step = at.step, .epoch = at.epoch, .taken = at.taken});
}

// What rank 0 saw. Only its replica begins with the seed of the others' runs.
Losses run_of(const Task& task) {
  Losses seen;
  const auto train_set = data::make_synthetic(120, 16, 5, 1);
  const auto test_set = data::make_synthetic(41, 16, 5, 2);
  const auto ran = on_sim(task.ranks, [&](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device;
    train::StrategyOptions chosen;
    chosen.choice.reduction = task.reduction;
    chosen.accumulate = task.options.accumulate;
    chosen.clip_norm = task.clip_norm;
    chosen.horovod.strands = &strands;
    const auto strategy =
        train::make_strategy(group, device, recipe_of(task, group.rank()), chosen);
    train::TrainOptions options = task.options;
    if (!task.folder.empty()) {
      if (const auto latest = checkpoint::latest_in(task.folder)) {
        const checkpoint::SavedRun saved(*latest);
        strategy->restore(saved);
        options.start = {saved.state().step, saved.state().epoch, saved.state().taken};
      }
      group.barrier();  // nobody looks for the latest when there is one of this run
      options.save = [&](const train::Position& at) {
        save_into(task.folder, *strategy, name_of(task.optimizer), at);
      };
    }
    Losses mine;
    const std::array<train::Observer*, 1> observers{&mine};
    train::train(*strategy, *train_set, *test_set, options, observers);
    LOCKSTEP_EXPECT(group.size() == 1 || strategy->cost().bytes_sent > 0);
    LOCKSTEP_EXPECT(strategy->cost().communication.total_s >=
                    strategy->cost().communication.exposed_s);
    if (group.rank() == 0) seen = mine;
  });
  REQUIRE(ran.all() == "");
  return seen;
}

void check_same(const Losses& one, const Losses& other, double tolerance) {
  REQUIRE(one.steps.size() == other.steps.size());
  for (std::size_t k = 0; k < one.steps.size(); ++k) {
    CAPTURE(k, one.steps[k], other.steps[k]);
    CHECK(std::abs(one.steps[k] / other.steps[k] - 1) <= tolerance);
  }
  REQUIRE(one.epochs.size() == other.epochs.size());
  for (std::size_t e = 0; e < one.epochs.size(); ++e) {
    CHECK(std::abs(one.epochs[e].test_loss / other.epochs[e].test_loss - 1) <= tolerance);
    CHECK(one.epochs[e].agreement.differs == -1);
  }
}

// Sums in another order, in float64, over some 30 steps with momentum.
constexpr double rounding = 1e-12;

}  // namespace

TEST_CASE(
    "train --horovod: N ranks have one rank's losses, clipped and in several batches a step") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 8);
  const double clip_norm = GENERATE(0.0, 0.05);
  CAPTURE(ranks, clip_norm);
  Task alone{.reduction = train::Way::plain, .clip_norm = clip_norm};
  alone.options = {.batch_size = 120, .epochs = 25};
  const Losses expected = run_of(alone);
  CHECK(expected.steps.back() < (clip_norm > 0 ? 1 : 0.95) * expected.steps.front());
  Task task{.ranks = ranks, .clip_norm = clip_norm};
  task.options = {.batch_size = 120 / ranks, .epochs = 25};
  check_same(run_of(task), expected, rounding);
  // An epoch of one step of three batches, of which the last is shorter where 3 does not divide.
  task.options.batch_size = (120 / ranks + 2) / 3;
  task.options.accumulate = 3;
  check_same(run_of(task), expected, rounding);
}

TEST_CASE(
    "train --horovod: a checkpoint goes on, on as many ranks or others, as DDP or as Horovod") {
  const auto kind = GENERATE(optim::OptimizerKind::sgd, optim::OptimizerKind::adamw);
  Task whole{.ranks = 4, .optimizer = kind};
  whole.options = {.batch_size = 6, .steps = 15, .decay = optim::Decay::constant};
  const Losses expected = run_of(whole);
  for (const auto& [ranks, then_ranks, then] : {std::tuple{4, 4, train::Way::horovod},
                                                {4, 2, train::Way::horovod},
                                                {4, 3, train::Way::ddp},
                                                {2, 4, train::Way::horovod}}) {
    CAPTURE(ranks, then_ranks);
    const TemporaryFolder folder("horovod");
    Task first = whole;
    first.ranks = ranks;
    first.options.batch_size = 24 / ranks;
    first.options.steps = 7;
    first.folder = folder.path();
    run_of(first);
    Task rest = whole;
    rest.ranks = then_ranks;
    rest.reduction = then;
    rest.options.batch_size = 24 / then_ranks;
    rest.folder = folder.path();
    const Losses seen = run_of(rest);
    REQUIRE(seen.steps.size() == 8);
    for (std::size_t k = 0; k < seen.steps.size(); ++k) {
      CAPTURE(k);
      // AdamW divides by what rounding left of zero.
      CHECK(std::abs(seen.steps[k] / expected.steps[k + 7] - 1) <= 1e-9);
    }
  }
}

TEST_CASE("train --horovod: what it does not combine with is refused, with the reason") {
  const auto refusal = [](const train::Choice& choice) {
    return test::message_of([&] { train::check(choice); });
  };
  CHECK_THAT(refusal({.reduction = train::Way::horovod, .hook = train::Way::compression}),
             contains("Horovod and compression do not combine"));
  CHECK_THAT(refusal({.layers = train::Way::tensor, .reduction = train::Way::horovod}),
             contains("averages every parameter over all ranks"));
}
