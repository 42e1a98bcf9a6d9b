// Training with --async on simulated ranks: one rank's losses with S = 0, runs with a bound and
// without, checkpoints, lost workers and servers.
#include <filesystem>
#include <numeric>

#include "engine/base/temporary_folder.hpp"
#include "engine/comm/worlds/sim/simulated_device.hpp"
#include "engine/train/strategies/async.hpp"
#include "engine/train/strategies/plain.hpp"
#include "tests/async_sgd/ranks.hpp"
#include "tests/catch.hpp"
#include "tests/train/strategy_runs.hpp"

using namespace lockstep;
using lockstep::test::check_continues;
using lockstep::test::check_same;
using lockstep::test::contains;
using lockstep::test::Losses;
using lockstep::test::message_of;
using lockstep::test::rounding;

namespace {

struct Task {
  int ranks = 1;
  enum class By : std::uint8_t { servers, replicas } by = By::servers;
  std::int64_t staleness = 0;
  int servers = 0;
  optim::OptimizerKind optimizer = optim::OptimizerKind::sgd;
  double clip_norm = 0;
  train::TrainOptions options{};
  sim::Faults faults{};
  std::filesystem::path folder{};  // of checkpoints; empty: none
};

struct Ran {
  test::SimRun run;
  std::vector<Losses> ranks;
  std::vector<std::string> told;
};

std::unique_ptr<train::Strategy> make(const Task& task, comm::ProcessGroup& group, Device& device,
                                      train::AsyncOptions options) {
  const train::Recipe recipe = test::small_recipe(task.optimizer);
  if (task.by == Task::By::replicas) {
    return train::make_plain(group, train::make_replica(recipe, device), task.clip_norm);
  }
  options.staleness = task.staleness;
  options.servers = task.servers;
  return train::make_async(group, device, recipe, task.clip_norm, options);
}

Ran train_all(const Task& task) {
  Ran ran;
  ran.ranks.resize(static_cast<std::size_t>(task.ranks));
  const auto cluster = sim::cluster_of("laptop");
  const auto train_rank = [&](comm::ProcessGroup& group, sim::FiberRank& self) {
    comm::SimulatedDevice device(self.port, self.rank, cluster.device, DType::float64,
                                 comm::Elements::numbers);
    train::AsyncOptions options;
    options.strands = &self.strands;
    options.tell = [&](const std::string& sentence) { ran.told.push_back(sentence); };
    const auto strategy = make(task, group, device, options);
    test::train_small(group, *strategy, name_of(task.optimizer), task.options, task.folder,
                      ran.ranks[static_cast<std::size_t>(self.rank)]);
  };
  ran.run = test::on_ranks(task.ranks, train_rank, task.faults);
  return ran;
}

// What rank 0 saw.
Losses run_of(const Task& task) {
  const Ran ran = train_all(task);
  REQUIRE(ran.run.finding == "");
  return ran.ranks.front();
}

std::int64_t pushes_in(const std::vector<std::int64_t>& histogram) {
  return std::accumulate(histogram.begin(), histogram.end(), std::int64_t{0});
}

}  // namespace

TEST_CASE("train --async: with S = 0, N ranks and K servers have one rank's losses") {
  const int ranks = GENERATE(1, 2, 3, 4, 5, 8);
  const double clip_norm = GENERATE(0.0, 0.05);
  Task alone{.by = Task::By::replicas, .clip_norm = clip_norm};
  alone.options = {.batch_size = 120, .epochs = 10};
  const Losses expected = run_of(alone);
  CHECK(expected.steps.back().loss < expected.steps.front().loss);
  for (const int servers : {1, 2, 0}) {
    if (servers > ranks) continue;
    CAPTURE(ranks, clip_norm, servers);
    Task task{.ranks = ranks, .servers = servers, .clip_norm = clip_norm};
    task.options = {.batch_size = 120 / ranks, .epochs = 10};
    const Losses seen = run_of(task);
    check_same(seen, expected, rounding);
    CHECK(seen.summary.asynchrony.staleness == std::vector<std::int64_t>{10 * ranks});
    // An epoch of one step of three batches, of which the last is shorter where 3 does not divide.
    task.options.batch_size = (120 / ranks + 2) / 3;
    task.options.accumulate = 3;
    check_same(run_of(task), expected, rounding);
  }
}

TEST_CASE("train --async: what a step sends is 32 bytes and the parameters, to servers and back") {
  // Rank 1 has no server: its push, to the one on rank 0.
  Task task{.ranks = 2, .staleness = async_sgd::unbounded, .servers = 1};
  task.options = {.batch_size = 12, .steps = 4};
  const Ran ran = train_all(task);
  REQUIRE(ran.run.finding == "");
  constexpr std::int64_t parameters = 16 * 24 + 24 + 24 * 12 + 12 + 12 * 5 + 5;
  for (std::size_t k = 1; k < 4; ++k) {  // the first step pulls, too
    CHECK(ran.ranks[1].steps[k].bytes_sent == 32 + 8 * parameters);
  }
}

TEST_CASE("train --async: a checkpoint goes on, on as many ranks or others, and as DDP") {
  const auto kind = GENERATE(optim::OptimizerKind::sgd, optim::OptimizerKind::adamw);
  Task whole{.ranks = 4, .optimizer = kind};
  whole.options = {.batch_size = 6, .steps = 15, .decay = optim::Decay::constant};
  const Losses expected = run_of(whole);
  for (const auto& [ranks, then_ranks, then] : {std::tuple{4, 4, Task::By::servers},
                                                {4, 2, Task::By::servers},
                                                {4, 3, Task::By::replicas},
                                                {2, 4, Task::By::servers}}) {
    CAPTURE(ranks, then_ranks);
    const TemporaryFolder folder("async");
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

TEST_CASE("train --async: with a bound and without, a slow worker makes the others' pushes stale") {
  Task task{.ranks = 4, .servers = 3};  // none on the slow rank
  task.options = {.batch_size = 10, .epochs = 12};
  task.faults.slow = {{.rank = 3, .slower = 4}};
  double bounded_s = 0;
  for (const std::int64_t staleness : {std::int64_t{0}, std::int64_t{2}, async_sgd::unbounded}) {
    CAPTURE(staleness);
    task.staleness = staleness;
    const Ran ran = train_all(task);
    REQUIRE(ran.run.finding == "");
    const Losses& seen = ran.ranks.front();
    CHECK(seen.epochs.back().test_loss < 0.9 * seen.epochs.front().test_loss);
    const auto& histogram = seen.summary.asynchrony.staleness;
    CHECK(pushes_in(histogram) == 4 * 36);
    if (staleness == 0) CHECK(std::ssize(histogram) == 1);
    if (staleness == 2) CHECK(std::ssize(histogram) - 1 <= 5 * 3);
    if (staleness != 0) CHECK(std::ssize(histogram) > 2);
    // The last step of rank 0, before it waits for the others.
    const double steps_s = seen.steps.back().seconds;
    if (staleness == 2) bounded_s = steps_s;
    UNSCOPED_INFO(staleness << " took " << steps_s);
    if (staleness == async_sgd::unbounded) CHECK(steps_s < 0.6 * bounded_s);
    // The same run again has the same bits.
    const Ran again = train_all(task);
    for (std::size_t k = 0; k < seen.steps.size(); ++k) {
      CHECK(again.ranks.front().steps[k].loss == seen.steps[k].loss);
    }
  }
}

TEST_CASE("train --async: at its end rank 0 has the pushes of all workers") {
  Task task{.ranks = 3, .staleness = async_sgd::unbounded};
  task.options = {.batch_size = 10, .steps = 8};
  task.faults.slow = {{.rank = 2, .slower = 10}};
  const TemporaryFolder folder("async");
  task.folder = folder.path();
  const Ran ran = train_all(task);
  REQUIRE(ran.run.finding == "");
  CHECK(pushes_in(ran.ranks.front().summary.asynchrony.staleness) == 24);
  const checkpoint::SavedRun saved(checkpoint::latest_in(folder.path()).value());
  CHECK(saved.state().step == 8);
  // An evaluation comes after the last push of rank 2, which is ten times as slow.
  CHECK(ran.ranks.front().epochs.back().seconds > ran.ranks[2].steps.back().seconds);
}

TEST_CASE("train --async: a worker without a server dies at any call, and the others go on") {
  const int at_call = GENERATE(1, 7, 25, 60, 150);
  for (const std::int64_t staleness : {std::int64_t{0}, std::int64_t{2}, async_sgd::unbounded}) {
    CAPTURE(at_call, staleness);
    Task task{.ranks = 3, .staleness = staleness, .servers = 1};
    task.options = {.batch_size = 10, .steps = 40};
    task.faults.kills = {{.rank = 2, .at_call = at_call}};
    const Ran ran = train_all(task);
    const std::int64_t taken = std::ssize(ran.ranks[2].steps);
    UNSCOPED_INFO("call " << at_call << " came after " << taken << " steps");
    if (at_call == 1) {  // before all ranks are connected, nobody can do without it
      CHECK_THAT(ran.run.finding, contains("rank 2"));
      continue;
    }
    REQUIRE(ran.run.finding == "");
    REQUIRE(ran.told.size() == 1);
    CHECK_THAT(ran.told[0], contains("worker 2 is lost, and the others go on without it"));
    CHECK(ran.ranks[0].summary.asynchrony.lost == ran.told);
    CHECK(ran.ranks[0].steps.size() == 40);
    CHECK(ran.ranks[1].steps.size() == 40);
    CHECK(taken < 40);
    const auto pushes = pushes_in(ran.ranks[0].summary.asynchrony.staleness);
    CHECK(pushes >= 80 + taken);
    CHECK(pushes < 120);
  }
}

TEST_CASE("train --async: a rank with a server dies at any call, and every worker names it") {
  const int at_call = GENERATE(1, 7, 25, 60, 150);
  for (const std::int64_t staleness : {std::int64_t{0}, std::int64_t{2}, async_sgd::unbounded}) {
    CAPTURE(at_call, staleness);
    Task task{.ranks = 3, .staleness = staleness, .servers = 2};
    task.options = {.batch_size = 10, .steps = 40};
    task.faults.kills = {{.rank = 1, .at_call = at_call}};
    const Ran ran = train_all(task);
    CHECK_THAT(ran.run.finding, contains("rank 1"));
    for (const std::size_t worker : {std::size_t{0}, std::size_t{2}}) {
      CAPTURE(worker, ran.run.thrown[worker]);
      CHECK_THAT(ran.run.thrown[worker], contains("rank 1"));
      CHECK(ran.ranks[worker].steps.size() < 40);
    }
  }
}

TEST_CASE("train --async: a rank has one server at most") {
  CHECK_THAT(message_of([] { train::check(train::AsyncOptions{.servers = 3}, 2); }),
             contains("--servers 3 on 2 ranks"));
  CHECK_THAT(message_of([] { train::check(train::AsyncOptions{.servers = -1}, 2); }),
             contains("--servers -1"));
}
