// Training on shares of different sizes, with both divisors: every sample once, equal replicas at
// the end of each epoch, and the losses of one device where the ranks that go on divide.
#include <array>
#include <map>

#include "engine/train/loop.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::on_fibers;

namespace {

struct Log final : train::Observer {
  std::vector<double> losses;
  std::vector<std::int64_t> bytes;  // sent by rank 0, by step
  std::vector<bool> epochs_equal;
  bool replicas_equal = false;
  void on_step(const train::StepReport& report) override {
    losses.push_back(report.loss);
    bytes.push_back(report.bytes_sent);
  }
  void on_epoch(const train::EpochReport& report) override {
    epochs_equal.push_back(report.agreement.differs < 0);
  }
  void on_end(const train::Summary& summary) override { replicas_equal = summary.replicas_equal; }
};

// Counts how often each sample is read.
struct Counted final : data::Dataset {
  explicit Counted(std::int64_t samples) : inner(data::make_synthetic(samples, 16, 5, 1)) {}
  std::int64_t size() const override { return inner->size(); }
  std::int64_t inputs() const override { return inner->inputs(); }
  std::int64_t classes() const override { return inner->classes(); }
  data::Batch batch(std::span<const std::int64_t> indices, DType dtype,
                    Device& device) const override {
    for (const std::int64_t index : indices) ++reads[index];
    return inner->batch(indices, dtype, device);
  }
  std::unique_ptr<data::Dataset> inner;
  mutable std::map<std::int64_t, int> reads;
};

struct Run {
  int ranks = 1;
  std::int64_t batch = 4, samples = 97, steps = 0, accumulate = 1;
  std::optional<ddp::JoinDivide> join = std::nullopt;
  optim::OptimizerKind optimizer = optim::OptimizerKind::sgd;
  ddp::Unused unused = ddp::Unused::refuse;
};

struct Seen {
  Log log;
  std::map<std::int64_t, int> reads;
};

// What rank 0 saw, and the reads of all.
Seen run(const Run& wanted) {
  Seen seen;
  const Counted train_set(wanted.samples);
  const auto test_set = data::make_synthetic(41, 16, 5, 2);
  on_fibers(wanted.ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    train::Recipe recipe;
    recipe.model.widths = {16, 24, 5};
    recipe.model.dtype = DType::float64;
    recipe.optimizer.kind = wanted.optimizer;
    recipe.optimizer.sgd = {.learning_rate = 0.05, .momentum = 0.9};
    recipe.seed = 3;
    train::DdpRun chosen;
    chosen.join = wanted.join;
    chosen.accumulate = wanted.accumulate;
    chosen.options.limits = {256, 1024};
    chosen.options.unused = wanted.unused;
    const auto strategy = train::make_ddp_or_plain(group, device, recipe, std::move(chosen));
    train::TrainOptions options;
    options.batch_size = wanted.batch;
    options.accumulate = wanted.accumulate;
    options.epochs = 3;
    options.steps = wanted.steps;
    options.seed = 5;
    if (wanted.join) options.deal = train::Deal::uneven;
    Log mine;
    const std::array<train::Observer*, 1> observers{&mine};
    train::train(*strategy, train_set, *test_set, options, observers);
    if (group.rank() == 0) seen.log = mine;
  });
  seen.reads = train_set.reads;
  return seen;
}

// Sums in another order, in float64, over some 30 steps.
constexpr double rounding = 1e-12;

}  // namespace

TEST_CASE("join: in each epoch every sample is read once, and replicas end equal bit for bit") {
  const auto divide = GENERATE(ddp::JoinDivide::initial, ddp::JoinDivide::live);
  const int ranks = GENERATE(2, 3, 5, 8);
  const std::int64_t samples = GENERATE(97, 98, 101);
  const auto optimizer = GENERATE(optim::OptimizerKind::sgd, optim::OptimizerKind::adamw);
  CAPTURE(ranks, samples);
  const Seen seen =
      run({.ranks = ranks, .samples = samples, .join = divide, .optimizer = optimizer});
  CHECK(seen.log.epochs_equal == std::vector<bool>{true, true, true});
  CHECK(seen.log.replicas_equal);
  CHECK(seen.reads.size() == static_cast<std::size_t>(samples));
  for (const auto& [index, times] : seen.reads) {
    CAPTURE(index);
    CHECK(times == 3);
  }
}

TEST_CASE("join: where the live ranks divide, uneven shares have the losses of one device") {
  // 97 = 8 · 12 + 1 and 98 = 8 · 12 + 2: in an epoch's last step, one rank or two have one sample.
  const std::int64_t samples = GENERATE(97, 98);
  const auto optimizer = GENERATE(optim::OptimizerKind::sgd, optim::OptimizerKind::adamw);
  const Seen one = run({.batch = 12, .samples = samples, .optimizer = optimizer});
  const Seen three =
      run({.ranks = 3, .samples = samples, .join = ddp::JoinDivide::live, .optimizer = optimizer});
  REQUIRE(one.log.losses.size() == 27);
  REQUIRE(three.log.losses.size() == 27);
  for (std::size_t k = 0; k < 27; ++k) {
    CAPTURE(k);
    CHECK(std::abs(three.log.losses[k] / one.log.losses[k] - 1) <= rounding);
  }
}

TEST_CASE("join: divided by the initial ranks, the last step is shorter") {
  const Seen live = run({.ranks = 3, .join = ddp::JoinDivide::live});
  const Seen initial = run({.ranks = 3, .join = ddp::JoinDivide::initial});
  REQUIRE(live.log.losses.size() == initial.log.losses.size());
  for (std::size_t k = 0; k < 9; ++k) CHECK(live.log.losses[k] == initial.log.losses[k]);
  CHECK(live.log.losses[9] != initial.log.losses[9]);
}

TEST_CASE("join: with steps of several batches, and a run that ends inside an epoch") {
  const Seen seen =
      run({.ranks = 3, .samples = 97, .steps = 14, .accumulate = 2, .join = ddp::JoinDivide::live});
  CHECK(seen.log.losses.size() == 14);
  CHECK(seen.log.replicas_equal);
}

TEST_CASE("static graph: the losses of --find-unused, without its bytes from the second step on") {
  const Run common{.ranks = 4, .samples = 96};
  const auto with = [&](ddp::Unused unused) {
    Run one = common;
    one.unused = unused;
    return run(one).log;
  };
  const Log refuse = with(ddp::Unused::refuse), reduce = with(ddp::Unused::reduce),
            fixed = with(ddp::Unused::fixed);
  CHECK(fixed.losses == refuse.losses);
  CHECK(reduce.losses == refuse.losses);
  // In the first step, one number for each of the 4 parameters more: a ring sends 2 · 3/4 of it.
  CHECK(fixed.bytes[0] == refuse.bytes[0] + 2 * 3 * 4 * 8 / 4);
  for (std::size_t k = 1; k < fixed.bytes.size(); ++k) CHECK(fixed.bytes[k] == refuse.bytes[k]);
  CHECK(reduce.bytes[1] > refuse.bytes[1]);
}
