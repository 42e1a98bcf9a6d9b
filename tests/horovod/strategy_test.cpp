// Training with --horovod: the losses of one rank, clipping, several batches a step, checkpoints.
#include <filesystem>

#include "engine/base/temporary_folder.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/horovod.hpp"
#include "engine/train/strategies/plain.hpp"
#include "tests/catch.hpp"
#include "tests/horovod/ranks.hpp"
#include "tests/train/strategy_runs.hpp"

using namespace lockstep;
using lockstep::test::check_continues;
using lockstep::test::check_same;
using lockstep::test::Losses;
using lockstep::test::on_sim;
using lockstep::test::rounding;

namespace {

struct Task {
  int ranks = 1;
  enum class By : std::uint8_t { horovod, ddp, plain } by = By::horovod;
  optim::OptimizerKind optimizer = optim::OptimizerKind::sgd;
  double clip_norm = 0;
  horovod::Combine combine = horovod::Combine::average;
  train::TrainOptions options{};
  std::filesystem::path folder{};  // of checkpoints; empty: none
};

std::unique_ptr<train::Strategy> make(const Task& task, comm::ProcessGroup& group, Device& device,
                                      const train::Recipe& recipe, Strands& strands) {
  if (task.by == Task::By::plain) {
    return train::make_plain(group, train::make_replica(recipe, device), task.clip_norm);
  }
  if (task.by == Task::By::ddp) {
    return train::make_ddp_or_plain(
        group, device, recipe,
        {.accumulate = task.options.accumulate, .clip_norm = task.clip_norm});
  }
  horovod::HorovodOptions options;
  options.strands = &strands;
  options.combine = task.combine;
  return train::make_horovod(group, device, recipe, task.clip_norm, options);
}

// What rank 0 saw. Only its replica begins with the seed of the others' runs.
Losses run_of(const Task& task) {
  Losses seen;
  const auto ran = on_sim(task.ranks, [&](comm::ProcessGroup& group, Strands& strands) {
    CpuDevice device;
    const bool alike = task.by != Task::By::horovod;
    const auto seed = static_cast<std::uint64_t>(alike ? 3 : 3 + group.rank());
    train::Recipe recipe = test::small_recipe(task.optimizer, seed);
    if (task.combine == horovod::Combine::sum) recipe.optimizer.sgd.learning_rate /= group.size();
    const auto strategy = make(task, group, device, recipe, strands);
    Losses mine;
    test::train_small(group, *strategy, name_of(task.optimizer), task.options, task.folder, mine);
    LOCKSTEP_EXPECT(group.size() == 1 || strategy->cost().bytes_sent > 0);
    LOCKSTEP_EXPECT(strategy->cost().communication.total_s >=
                    strategy->cost().communication.exposed_s);
    if (group.rank() == 0) seen = mine;
  });
  REQUIRE(ran.all() == "");
  return seen;
}

}  // namespace

TEST_CASE(
    "train --horovod: N ranks have one rank's losses, clipped and in several batches a step") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 8);
  const double clip_norm = GENERATE(0.0, 0.05);
  CAPTURE(ranks, clip_norm);
  Task alone{.by = Task::By::plain, .clip_norm = clip_norm};
  alone.options = {.batch_size = 120, .epochs = 25};
  const Losses expected = run_of(alone);
  CHECK(expected.steps.back().loss < (clip_norm > 0 ? 1 : 0.95) * expected.steps.front().loss);
  Task task{.ranks = ranks, .clip_norm = clip_norm};
  task.options = {.batch_size = 120 / ranks, .epochs = 25};
  check_same(run_of(task), expected, rounding);
  // An epoch of one step of three batches, of which the last is shorter where 3 does not divide.
  task.options.batch_size = (120 / ranks + 2) / 3;
  task.options.accumulate = 3;
  check_same(run_of(task), expected, rounding);
}

TEST_CASE("train --horovod: a sum of gradients at 1/N of the rate has the losses of the average") {
  const int ranks = GENERATE(1, 2, 3, 5);
  Task average{.ranks = ranks};
  average.options = {.batch_size = 120 / ranks, .epochs = 25};
  Task sum = average;
  sum.combine = horovod::Combine::sum;
  check_same(run_of(sum), run_of(average), rounding);
}

TEST_CASE(
    "train --horovod: a checkpoint goes on, on as many ranks or others, as DDP or as Horovod") {
  const auto kind = GENERATE(optim::OptimizerKind::sgd, optim::OptimizerKind::adamw);
  Task whole{.ranks = 4, .optimizer = kind};
  whole.options = {.batch_size = 6, .steps = 15, .decay = optim::Decay::constant};
  const Losses expected = run_of(whole);
  for (const auto& [ranks, then_ranks, then] : {std::tuple{4, 4, Task::By::horovod},
                                                {4, 2, Task::By::horovod},
                                                {4, 3, Task::By::ddp},
                                                {2, 4, Task::By::horovod}}) {
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
    rest.by = then;
    rest.options.batch_size = 24 / then_ranks;
    rest.folder = folder.path();
    check_continues(run_of(rest), expected, 7);
  }
}
