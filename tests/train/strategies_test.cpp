// What any strategy owes the loop, shown with three that no room has: a model in two stages, a
// server with workers, an update that ranks share. Equal samples, equal losses.
#include <array>
#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include "engine/base/temporary_folder.hpp"
#include "engine/checkpoint/file.hpp"
#include "engine/checkpoint/file_storage.hpp"
#include "engine/train/loop.hpp"
#include "engine/train/save.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/plain.hpp"
#include "tests/catch.hpp"
#include "tests/train/doubles.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using lockstep::test::on_fibers;

namespace {

struct Losses final : train::Observer {
  std::vector<double> steps;
  std::vector<train::EpochReport> epochs;
  void on_step(const train::StepReport& report) override { steps.push_back(report.loss); }
  void on_epoch(const train::EpochReport& report) override { epochs.push_back(report); }
  void on_end(const train::Summary&) override {}
};

train::Recipe recipe_of(optim::OptimizerKind kind) {
  train::Recipe recipe;
  recipe.model.widths = {16, 24, 12, 5};
  recipe.model.dtype = DType::float64;
  recipe.optimizer.kind = kind;
  recipe.optimizer.sgd = {.learning_rate = 0.05, .momentum = 0.9};
  recipe.seed = 3;
  return recipe;
}

using Make = std::function<std::unique_ptr<train::Strategy>(comm::ProcessGroup& group,
                                                            Device& device, const train::Recipe&)>;

// The engine's own: ddp, or what it falls back to on one rank.
Make engine_of(std::int64_t accumulate, double clip_norm) {
  return [=](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe) {
    return train::make_ddp_or_plain(group, device, recipe,
                                    {.accumulate = accumulate, .clip_norm = clip_norm});
  };
}

struct Task {
  Make make;
  optim::OptimizerKind optimizer = optim::OptimizerKind::sgd;
  train::TrainOptions options{};
  std::filesystem::path folder{};  // of checkpoints; empty: none
  std::int64_t samples = 100;
};

// What rank 0 saw.
Losses run_on(int ranks, const Task& task) {
  Losses seen;
  const auto train_set = data::make_synthetic(task.samples, 16, 5, 1);
  const auto test_set = data::make_synthetic(41, 16, 5, 2);
  on_fibers(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const train::Recipe recipe = recipe_of(task.optimizer);
    const auto strategy = task.make(group, device, recipe);
    train::TrainOptions options = task.options;
    if (!task.folder.empty()) {
      if (const auto latest = checkpoint::latest_in(task.folder)) {
        const checkpoint::SavedRun saved(*latest);
        if (strategy->position().role != train::Role::stand_by) strategy->restore(saved);
        options.start = {saved.state().step, saved.state().epoch, saved.state().taken};
      }
      options.save = [&](const train::Position& at) {
        checkpoint::FileStorage storage(task.folder);
        train::save(*strategy, train::SaveForm::dense, name_of(task.optimizer), storage,
                    {.step = at.step, .epoch = at.epoch, .taken = at.taken}, {});
      };
    }
    Losses mine;
    const std::array<train::Observer*, 1> observers{&mine};
    train::train(*strategy, *train_set, *test_set, options, observers);
    if (group.rank() == 0) seen = mine;
  });
  return seen;
}

// Sums in another order, in float64, over some 30 steps with momentum.
constexpr double rounding = 1e-12;

void check_same(const Losses& one, const Losses& other, double tolerance) {
  REQUIRE(one.steps.size() == other.steps.size());
  REQUIRE(one.epochs.size() == other.epochs.size());
  for (std::size_t k = 0; k < one.steps.size(); ++k) {
    CAPTURE(k, one.steps[k], other.steps[k]);
    CHECK(std::abs(one.steps[k] / other.steps[k] - 1) <= tolerance);
  }
  for (std::size_t e = 0; e < one.epochs.size(); ++e) {
    CHECK(std::abs(one.epochs[e].test_loss / other.epochs[e].test_loss - 1) <= tolerance);
    CHECK(one.epochs[e].test_accuracy == other.epochs[e].test_accuracy);
  }
}

std::string bytes_of(const std::filesystem::path& file) {
  checkpoint::OldFile in(file);
  std::string bytes(static_cast<std::size_t>(in.size()), 0);
  in.read(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

}  // namespace

TEST_CASE("strategies: replicas are not all that train where two ranks work on one") {
  // Ranks 0 and 1 stand for one replica, 2 and 3 for another: each pair computes the same.
  const auto on_pairs = [](std::int64_t accumulate) -> Make {
    return [accumulate](comm::ProcessGroup& world, Device& device, const train::Recipe& recipe) {
      auto strategy = train::make_ddp_or_plain({world, {.tp = 2, .dp = 2}}, device, recipe,
                                               {.accumulate = accumulate, .clip_norm = 0.5});
      CHECK(strategy->position().shares == 2);
      CHECK(strategy->position().share == world.rank() / 2);
      CHECK(strategy->trainers().size() == 4);
      return strategy;
    };
  };
  for (const std::int64_t accumulate : {1, 2}) {
    Task task{.make = engine_of(accumulate, 0.5)};
    task.options.batch_size = 10;
    task.options.accumulate = accumulate;
    const Losses two = run_on(2, task);
    task.make = on_pairs(accumulate);
    check_same(run_on(4, task), two, 0);
  }
}

TEST_CASE("strategies: a model in two stages, with two micro-batches, has one rank's losses") {
  Task task{
      engine_of(2, 0), optim::OptimizerKind::sgd, {.batch_size = 8, .accumulate = 2, .epochs = 5}};
  const TemporaryFolder one("one"), two("two");
  task.folder = one.path();
  const Losses alone = run_on(1, task);
  REQUIRE(alone.steps.size() == 35);  // 7 an epoch of 100 in sixteens, the last of 4
  CHECK(alone.steps.back() < 0.9 * alone.steps.front());
  task.make = test::make_two_stages;
  task.folder = two.path();
  const Losses staged = run_on(2, task);
  check_same(staged, alone, 0);  // the same operations on the same numbers
  CHECK(staged.epochs.back().agreement.holders == train::Agreement::Holders::parts);
  CHECK(staged.epochs.back().agreement.differs == -1);

  // What is put together of two ranks is what one rank writes.
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "index.json"}) {
    CAPTURE(file);
    CHECK(bytes_of(two.path() / "step_000035" / file) ==
          bytes_of(one.path() / "step_000035" / file));
  }

  // Each goes on from what the other saved.
  task.options.epochs = 6;
  task.folder = one.path();
  const Losses staged_rest = run_on(2, task);
  task.make = engine_of(2, 0);
  task.folder = two.path();
  const Losses alone_rest = run_on(1, task);
  REQUIRE(alone_rest.steps.size() == 7);
  check_same(staged_rest, alone_rest, 0);
  CHECK(alone_rest.steps.front() < alone.steps.front());
}

TEST_CASE("strategies: a server with workers has the losses of as many ranks, and of one") {
  for (const int workers : {1, 2, 3, 4}) {
    CAPTURE(workers);
    Task task{test::make_one_server,
              optim::OptimizerKind::adam,
              {.batch_size = 24 / workers, .epochs = 6}};
    const Losses served = run_on(workers + 1, task);
    REQUIRE(served.steps.size() == 30);
    CHECK(served.epochs.back().agreement.hashes.size() == static_cast<std::size_t>(workers));
    CHECK(served.epochs.back().agreement.differs == -1);
    task.make = engine_of(1, 0);
    check_same(served, run_on(workers, task), rounding);
    if (100 % workers != 0) continue;  // else the last batch is padded, and one rank's is not
    task.options.batch_size = 24;
    check_same(served, run_on(1, task), 1e-9);  // Adam divides by what rounding left of zero
  }
}

TEST_CASE("strategies: what a server keeps is saved, and goes on with other workers, or without") {
  Task task{test::make_one_server,
            optim::OptimizerKind::adam,
            {.batch_size = 5, .steps = 30, .decay = optim::Decay::constant}};
  const Losses whole = run_on(5, task);  // four workers: global batches of 20
  struct Rest {
    int ranks;
    std::int64_t batch_size;
    Make make;
  };
  for (const Rest& other : {Rest{3, 10, test::make_one_server},
                            {2, 20, test::make_one_server},
                            {2, 10, engine_of(1, 0)}}) {
    CAPTURE(other.ranks, other.batch_size);
    const TemporaryFolder folder("served");
    Task first = task, rest = task;
    first.folder = rest.folder = folder.path();
    first.options.steps = 12;
    run_on(5, first);
    rest.make = other.make;
    rest.options.batch_size = other.batch_size;
    const Losses seen = run_on(other.ranks, rest);
    REQUIRE(seen.steps.size() == 18);
    for (std::size_t k = 0; k < seen.steps.size(); ++k) {
      CAPTURE(k, seen.steps[k], whole.steps[k + 12]);
      CHECK(std::abs(seen.steps[k] / whole.steps[k + 12] - 1) <= 1e-9);
    }
  }
}

TEST_CASE("strategies: ranks that stand by change nothing, and are asked for nothing") {
  for (const int waiting : {1, 3}) {
    CAPTURE(waiting);
    Task task{engine_of(1, 0), optim::OptimizerKind::adam, {.batch_size = 8, .epochs = 3}};
    const TemporaryFolder alone("alone"), beside("beside");
    task.folder = alone.path();
    const Losses without = run_on(2, task);
    task.folder = beside.path();
    task.make = [](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe) {
      return test::make_some_stand_by(group, 2, [&](comm::ProcessGroup& trainers) {
        return engine_of(1, 0)(trainers, device, recipe);
      });
    };
    check_same(run_on(2 + waiting, task), without, 0);
    for (const char* file : {"model.safetensors", "optimizer.safetensors", "index.json"}) {
      CHECK(bytes_of(*checkpoint::latest_in(beside.path()) / file) ==
            bytes_of(*checkpoint::latest_in(alone.path()) / file));
    }
  }
}

TEST_CASE("strategies: an update that ranks share has the losses of a whole one, to the bit") {
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    CAPTURE(ranks);
    Task task{[](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe) {
                return train::make_plain(group, train::make_replica(recipe, device), 0.5);
              },
              optim::OptimizerKind::adamw,
              {.batch_size = 4, .epochs = 3}};
    const Losses whole = run_on(ranks, task);
    task.make = [](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe) {
      return test::make_shared_update(group, device, recipe, 0.5);
    };
    const Losses shared = run_on(ranks, task);
    check_same(shared, whole, 0);
    CHECK(shared.epochs.back().agreement.hashes == whole.epochs.back().agreement.hashes);
  }
}

TEST_CASE(
    "strategies: a run saved on 4 ranks goes on with 2, with 3, or with one that shares not") {
  const Make shared = [](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe) {
    return test::make_shared_update(group, device, recipe, 0);
  };
  Task task{shared, optim::OptimizerKind::adamw, {.batch_size = 3, .steps = 20}};
  task.options.decay = optim::Decay::constant;
  const Losses whole = run_on(4, task);  // global batches of 12: epochs of 9 steps, the last of 4
  for (const std::int64_t stop : {4, 9, 14}) {
    const std::vector<std::pair<int, Make>> others{
        {2, shared}, {3, shared}, {1, engine_of(1, 0)}, {4, engine_of(1, 0)}};
    for (const auto& [ranks, make] : others) {
      CAPTURE(stop, ranks);
      const TemporaryFolder folder("resume");
      Task first = task;
      first.folder = folder.path();
      first.options.steps = stop;
      run_on(4, first);
      Task rest = task;
      rest.make = make;
      rest.folder = folder.path();
      rest.options.batch_size = 12 / ranks;
      const Losses seen = run_on(ranks, rest);
      // The last step of an epoch has 4 samples: three ranks pad it, and from there they differ.
      const bool pads = ranks == 3;
      const std::size_t last = pads ? static_cast<std::size_t>((stop / 9 + 1) * 9 - 1) : 20;
      for (std::size_t k = 0; k + static_cast<std::size_t>(stop) < last; ++k) {
        const double expected = whole.steps[k + static_cast<std::size_t>(stop)];
        CAPTURE(k, seen.steps.at(k), expected);
        CHECK(std::abs(seen.steps.at(k) / expected - 1) <= 1e-9);
      }
      CHECK(seen.steps.size() == 20 - static_cast<std::size_t>(stop));
    }
  }
}

namespace {

// Writes down which samples were read.
struct Noted final : data::Dataset {
  const data::Dataset& inner;
  std::multiset<std::int64_t>& read;
  Noted(const data::Dataset& of, std::multiset<std::int64_t>& into) : inner(of), read(into) {}
  std::int64_t size() const override { return inner.size(); }
  std::int64_t inputs() const override { return inner.inputs(); }
  std::int64_t labels() const override { return inner.labels(); }
  std::int64_t classes() const override { return inner.classes(); }
  data::Batch batch(std::span<const std::int64_t> indices, DType dtype,
                    Device& device) const override {
    read.insert(indices.begin(), indices.end());
    return inner.batch(indices, dtype, device);
  }
};

}  // namespace

TEST_CASE("training: another number of ranks reads what is left of the epoch, and nothing twice") {
  const auto dataset = data::make_synthetic(103, 16, 5, 1);
  for (const auto& [ranks, batch, then_ranks, then_batch] :
       std::vector<std::array<int, 4>>{{4, 5, 2, 7}, {4, 5, 3, 4}, {3, 7, 7, 2}, {2, 9, 1, 11}}) {
    CAPTURE(ranks, then_ranks);
    std::multiset<std::int64_t> read;
    train::Position stopped;
    const auto part = [&](int world, std::int64_t of_rank, train::Position start,
                          std::int64_t steps) {
      on_fibers(world, [&](comm::ProcessGroup& group) {
        CpuDevice device;
        const Noted noted(*dataset, read);
        const auto strategy = engine_of(1, 0)(group, device, recipe_of(optim::OptimizerKind::sgd));
        train::TrainOptions options{.batch_size = of_rank, .epochs = 1, .steps = steps};
        options.start = start;
        options.save = [&](const train::Position& at) { stopped = at; };
        train::train(*strategy, noted, *dataset, options, {});
      });
    };
    part(ranks, batch, {}, 3);
    CHECK(stopped == train::Position{3, 0, std::int64_t{3} * ranks * batch});
    part(then_ranks, then_batch, stopped, 0);
    CHECK(stopped.epoch == 1);
    CHECK(stopped.taken == 0);
    const std::set<std::int64_t> once(read.begin(), read.end());
    CHECK(once.size() == 103);
    CHECK(read.size() < 103 + static_cast<std::size_t>(then_ranks));  // the rest pads the last step
  }
}

TEST_CASE("strategies: with nothing to reduce, ddp is the plain way") {
  on_fibers(1, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto dataset = data::make_synthetic(8, 16, 5, 1);
    const std::array<std::int64_t, 4> indices{0, 1, 2, 3};
    const data::Batch batch = dataset->batch(indices, DType::float64, device);
    for (const std::int64_t accumulate : {1, 2}) {
      const auto strategy =
          engine_of(accumulate, 0)(group, device, recipe_of(optim::OptimizerKind::sgd));
      const std::array two{batch, batch};
      const nn::Occasion occasion{.mode = nn::Mode::training};
      if (accumulate > 1) CHECK_NOTHROW(strategy->step(two, occasion, 0.1));
      if (accumulate == 1) CHECK_THROWS_AS(strategy->step(two, occasion, 0.1), ContractError);
    }
  });
}
