#include "engine/train/loop.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "engine/nn/mlp.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/plain.hpp"
#include "tests/catch.hpp"
#include "tests/train/thread_group.hpp"

using namespace lockstep;
using lockstep::test::Approx;
using lockstep::test::contains;
using lockstep::test::on_ranks;

namespace {

struct Recorder final : train::Observer {
  std::vector<train::StepReport> steps;
  std::vector<train::EpochReport> epochs;
  std::vector<train::Summary> ends;
  void on_step(const train::StepReport& report) override { steps.push_back(report); }
  void on_epoch(const train::EpochReport& report) override { epochs.push_back(report); }
  void on_end(const train::Summary& summary) override { ends.push_back(summary); }
};

struct Setup {
  DType dtype = DType::float64;
  std::int64_t samples = 1000;
  train::TrainOptions options;
  std::optional<ddp::Options> ddp = std::nullopt;  // without: the plain way
  double clip_norm = 0;
  double rate = 0.05;
};

std::unique_ptr<train::Strategy> strategy_for(comm::ProcessGroup& group, nn::Module& model,
                                              optim::Optimizer& optimizer,
                                              const std::optional<ddp::Options>& ddp = {},
                                              double clip_norm = 0) {
  const auto replica = train::lend(model, optimizer);
  return ddp ? train::make_ddp(group, replica, clip_norm, *ddp)
             : train::make_plain(group, replica, clip_norm);
}

std::unique_ptr<nn::Module> model_for(const data::Dataset& dataset, DType dtype, Device& device) {
  const std::array widths{dataset.inputs(), std::int64_t{24}, dataset.classes()};
  return nn::make_mlp(widths, dtype, device, 3);
}

// What rank 0 saw of a run on `ranks` ranks.
Recorder run_on(int ranks, const Setup& setup) {
  Recorder seen;
  const auto train_set = data::make_synthetic(setup.samples, 16, 5, 1);
  const auto test_set = data::make_synthetic(203, 16, 5, 2);
  on_ranks(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto model = model_for(*train_set, setup.dtype, device);
    const auto optimizer = optim::make_sgd(model->parameters(), {setup.rate, 0.9, 0});
    Recorder mine;
    const std::array<train::Observer*, 1> observers{&mine};
    const auto strategy = strategy_for(group, *model, *optimizer, setup.ddp, setup.clip_norm);
    train::train(*strategy, *train_set, *test_set, setup.options, observers);
    if (group.rank() == 0) seen = mine;
  });
  return seen;
}

Setup steps_of(std::int64_t global_batch, int ranks, std::int64_t steps, DType dtype) {
  Setup setup;
  setup.dtype = dtype;
  setup.options.batch_size = global_batch / ranks;
  setup.options.steps = steps;
  return setup;
}

}  // namespace

TEST_CASE("training: one rank with 128, two with 64, four with 32 follow one loss curve") {
  // Equal batches in another order of summation: 200 steps of momentum let roundings of 1e-16 grow
  // to some 1e-14; float32 starts at 1e-7 and is watched for 20 steps only.
  const auto check = [](DType dtype, std::int64_t steps, double tolerance) {
    const auto one = run_on(1, steps_of(128, 1, steps, dtype));
    REQUIRE(std::ssize(one.steps) == steps);
    CHECK(one.steps.back().loss < 0.9 * one.steps.front().loss);
    for (const int ranks : {2, 4, 8}) {
      const auto many = run_on(ranks, steps_of(128, ranks, steps, dtype));
      REQUIRE(many.steps.size() == one.steps.size());
      for (std::size_t k = 0; k < one.steps.size(); ++k) {
        CAPTURE(ranks, k);
        CHECK(std::abs(many.steps[k].loss / one.steps[k].loss - 1) <= tolerance);
      }
      CHECK(many.ends.at(0).replicas_equal);
    }
  };
  check(DType::float64, 200, 1e-12);
  check(DType::float32, 20, 1e-6);
}

TEST_CASE("training: it learns, and the same seed gives the same bits") {
  Setup setup;
  setup.dtype = DType::float32;
  setup.options.epochs = 4;
  setup.options.batch_size = 16;
  const auto first = run_on(3, setup), again = run_on(3, setup);
  REQUIRE(first.epochs.size() == 4);
  CHECK(first.epochs.back().test_accuracy > 0.8);
  CHECK(first.epochs.back().test_loss < first.epochs.front().test_loss);
  CHECK(first.epochs.back().agreement.hashes == again.epochs.back().agreement.hashes);
  CHECK(first.epochs.back().agreement.hashes.size() == 3);
  CHECK(first.epochs.back().agreement.differs == -1);
  setup.options.seed = 1;
  CHECK(run_on(3, setup).epochs.back().agreement.hashes != first.epochs.back().agreement.hashes);
}

TEST_CASE("training: replicas that begin with other numbers train as rank 0's model") {
  const auto dataset = data::make_synthetic(60, 16, 5, 1);
  const std::array widths{dataset->inputs(), std::int64_t{24}, dataset->classes()};
  const auto hashes_of = [&](std::uint64_t seed_of_others) {
    Recorder seen;
    on_ranks(3, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      const auto model =
          nn::make_mlp(widths, DType::float32, device, group.rank() == 0 ? 3 : seed_of_others);
      const auto optimizer = optim::make_sgd(model->parameters(), {0.05, 0.9, 0});
      Recorder mine;
      const std::array<train::Observer*, 1> observers{&mine};
      train::train(*strategy_for(group, *model, *optimizer), *dataset, *dataset,
                   {.batch_size = 4, .steps = 5}, observers);
      if (group.rank() == 0) seen = mine;
    });
    CHECK(seen.ends.at(0).replicas_equal);
    return seen.epochs.at(0).agreement.hashes;
  };
  CHECK(hashes_of(3) == hashes_of(4));
}

TEST_CASE(
    "training: an epoch ends with a smaller batch, and its loss weighs samples, not batches") {
  Setup setup;
  setup.samples = 25;
  setup.options = {.batch_size = 8, .epochs = 1};
  const auto seen = run_on(1, setup);
  REQUIRE(seen.steps.size() == 4);  // 8 + 8 + 8 + 1
  const auto& s = seen.steps;
  const double sum = 8 * (s[0].loss + s[1].loss + s[2].loss) + s[3].loss;
  CHECK(seen.epochs.at(0).train_loss == Approx(sum / 25).epsilon(1e-14));
  CHECK(s[3].step == 4);
  CHECK(s[3].steps == 4);
  CHECK(s[3].epoch == 1);
}

TEST_CASE("training: with steps given it goes through as many epochs as that takes") {
  Setup setup;
  setup.samples = 20;
  setup.options = {.batch_size = 5, .epochs = 1, .steps = 10};
  const auto seen = run_on(2, setup);
  CHECK(seen.steps.size() == 10);
  CHECK(seen.epochs.size() == 5);
  setup.options.steps = 3;
  CHECK(run_on(2, setup).epochs.size() == 2);
}

TEST_CASE("training: the bytes of a step are the gradients and the report of the loss, K or one") {
  constexpr std::int64_t gradients = 24 * 16 + 24 + 5 * 24 + 5;
  Setup setup;
  setup.options.steps = 2;
  CHECK(run_on(2, setup).steps[1].bytes_sent == 8 * (gradients + 1));
  setup.ddp = ddp::Options{};
  CHECK(run_on(2, setup).steps[0].bytes_sent == 8 * (gradients + 2));  // and who lacks a gradient
  setup.options.accumulate = 4;
  CHECK(run_on(2, setup).steps[0].bytes_sent == 8 * (gradients + 2));
}

TEST_CASE("training: gradients that travel during backward lead where those after it lead") {
  for (const int ranks : {1, 2, 3, 4}) {
    CAPTURE(ranks);
    Setup setup = steps_of(48, ranks, 20, DType::float64);
    setup.clip_norm = 0.5;
    const auto after = run_on(ranks, setup);
    setup.ddp = ddp::Options{};
    setup.ddp->limits = {1024, 2048};
    const auto during = run_on(ranks, setup);
    REQUIRE(during.steps.size() == after.steps.size());
    for (std::size_t k = 0; k < after.steps.size(); ++k) {
      CHECK(during.steps[k].loss == after.steps[k].loss);  // this group sums in one order always
    }
    CHECK(during.epochs.back().agreement.hashes == after.epochs.back().agreement.hashes);
    CHECK(during.ends.at(0).replicas_equal);
    CHECK(during.ends.at(0).communication.hidden().has_value());
    CHECK_FALSE(after.ends.at(0).communication.hidden().has_value());
  }
}

TEST_CASE(
    "training: K batches of B samples a step are one batch of K·B, also where an epoch ends") {
  // 50 samples: 25 a rank on two ranks, in steps of 12, 12 and 1; on one rank 24, 24 and 2.
  for (const int ranks : {1, 2}) {
    Setup setup;
    setup.samples = 50;
    setup.options = {.batch_size = 24 / ranks, .steps = 10};
    const auto whole = run_on(ranks, setup);
    setup.ddp = ddp::Options{};
    for (const std::int64_t k : {2, 3}) {
      setup.options.accumulate = k;
      setup.options.batch_size = 24 / ranks / k;
      const auto parts = run_on(ranks, setup);
      REQUIRE(parts.steps.size() == whole.steps.size());
      for (std::size_t i = 0; i < whole.steps.size(); ++i) {
        CAPTURE(ranks, k, i);
        CHECK(parts.steps[i].epoch == whole.steps[i].epoch);
        CHECK(std::abs(parts.steps[i].loss / whole.steps[i].loss - 1) <= 1e-12);
      }
      CHECK(std::abs(parts.epochs[0].train_loss / whole.epochs[0].train_loss - 1) <= 1e-12);
      for (const std::int64_t first : {1, 2, 3, 5}) {  // and it can go on inside an epoch
        Setup rest = setup;
        rest.rate = 0;
        Setup all = rest;
        rest.options.start = {first, first / 3, first % 3 * 24};  // places of 24, 24 and 2
        CHECK(run_on(ranks, rest).steps.front().loss ==
              run_on(ranks, all).steps[static_cast<std::size_t>(first)].loss);
      }
    }
  }
}

TEST_CASE("training: a run that goes on from a step sees what the whole run would have seen") {
  // 50 samples on two ranks in batches of 4: seven steps an epoch, the last one of a single sample.
  Setup setup;
  setup.samples = 50;
  setup.rate = 0;  // so that a step's loss depends on its samples only
  setup.options = {.batch_size = 4, .steps = 20};
  const auto whole = run_on(2, setup);
  for (const std::int64_t first : {1, 6, 7, 8, 19}) {
    setup.options.start = {first, first / 7, first % 7 * 8};
    const auto rest = run_on(2, setup);
    REQUIRE(std::ssize(rest.steps) == 20 - first);
    for (std::size_t k = 0; k < rest.steps.size(); ++k) {
      const auto& same = whole.steps[k + static_cast<std::size_t>(first)];
      CAPTURE(first, k);
      CHECK(rest.steps[k].step == same.step);
      CHECK(rest.steps[k].epoch == same.epoch);
      CHECK(rest.steps[k].loss == same.loss);
    }
  }
}

TEST_CASE("training: workers that read ahead change nothing that is seen") {
  Setup setup;
  setup.samples = 50;
  setup.options = {.batch_size = 4, .steps = 20};
  const auto plain = run_on(2, setup);
  for (const int workers : {1, 3}) {
    setup.options.workers = workers;
    CHECK(run_on(2, setup).epochs.back().agreement.hashes == plain.epochs.back().agreement.hashes);
  }
}

TEST_CASE("training: what is to be saved is saved every so many steps, and at the end") {
  Setup setup;
  std::vector<std::int64_t> saved;
  setup.options = {.batch_size = 10, .steps = 7};
  setup.options.save = [&](const train::Position& at) { saved.push_back(at.step); };
  run_on(1, setup);
  CHECK(saved == std::vector<std::int64_t>{7});
  saved.clear();
  setup.options.save_every = 3;
  run_on(1, setup);
  CHECK(saved == std::vector<std::int64_t>{3, 6, 7});
}

TEST_CASE("training: the model is told of every step, and of every evaluation") {
  struct Listener final : nn::Module {
    std::unique_ptr<nn::Module> model;
    std::vector<std::string> heard;
    Value forward(Tape& tape, const Value& input) override { return model->forward(tape, input); }
    std::vector<Parameter*> parameters() override { return model->parameters(); }
    void prepare(const nn::Occasion& o) override {
      heard.push_back(o.mode == nn::Mode::evaluation
                          ? std::string("evaluation")
                          : text("step ", o.step, " seed ", o.seed, " sample ", o.first_sample,
                                 " + ", o.sample_stride));
    }
  };
  const auto dataset = data::make_synthetic(40, 4, 2, 1);
  std::vector<std::string> heard;
  on_ranks(2, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    Listener listener;
    listener.model = model_for(*dataset, DType::float32, device);
    const auto optimizer = optim::make_sgd(listener.parameters(), {0.1});
    train::train(*strategy_for(group, listener, *optimizer), *dataset, *dataset,
                 {.batch_size = 10, .steps = 3, .seed = 9}, {});
    if (group.rank() == 1) heard = listener.heard;
  });
  CHECK(heard == std::vector<std::string>{
                     "step 0 seed 9 sample 1 + 2", "step 1 seed 9 sample 1 + 2", "evaluation",
                     "step 2 seed 9 sample 1 + 2", "evaluation", "evaluation"});

  // A step's second batch begins where its first one ended, in the order of all ranks' samples.
  on_ranks(2, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    Listener listener;
    listener.model = model_for(*dataset, DType::float32, device);
    const auto optimizer = optim::make_sgd(listener.parameters(), {0.1});
    train::TrainOptions options{.batch_size = 5, .accumulate = 2, .steps = 1, .seed = 9};
    train::train(*strategy_for(group, listener, *optimizer, ddp::Options{}), *dataset, *dataset,
                 options, {});
    if (group.rank() == 1) heard = listener.heard;
  });
  CHECK(heard == std::vector<std::string>{"step 0 seed 9 sample 1 + 2",
                                          "step 0 seed 9 sample 11 + 2", "evaluation",
                                          "evaluation"});
}

TEST_CASE("training: a global batch larger than the data is refused with one that fits") {
  CHECK(train::total_steps({.batch_size = 25, .epochs = 3}, 100, 4) == 3);
  CHECK_THROWS_AS(train::total_steps({.batch_size = 26}, 100, 4), UsageError);
  CHECK_THROWS_WITH(
      train::total_steps({.batch_size = 26}, 100, 4),
      contains("on each of 4 ranks is more than the 100 samples") && contains("--batch-size 25"));
  CHECK_THROWS_AS(train::total_steps({.batch_size = INT64_MAX}, 100, 4), UsageError);
  CHECK_THROWS_AS(train::total_steps({.batch_size = 0}, 100, 4), ContractError);
}

TEST_CASE("training: a loss that is no number ends the run on every rank with a sentence") {
  Setup setup;
  setup.rate = 1e30;
  setup.options.steps = 20;
  CHECK_THROWS_WITH(run_on(2, setup), contains("at step") && contains("--lr"));
}

TEST_CASE("training: replicas that come apart on the way are reported, not hidden") {
  // A replica that writes into its own bias before the second step.
  struct Drifter final : nn::Module {
    std::unique_ptr<nn::Module> model;
    bool drifts = false;
    Value forward(Tape& tape, const Value& input) override { return model->forward(tape, input); }
    std::vector<Parameter*> parameters() override { return model->parameters(); }
    void prepare(const nn::Occasion& o) override {
      if (drifts && o.step == 1) model->parameters()[1]->value.fill_(0.5);
    }
  };
  const auto dataset = data::make_synthetic(40, 4, 2, 1);
  std::vector<train::Summary> summaries(3);
  on_ranks(3, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    Drifter model;
    model.model = model_for(*dataset, DType::float32, device);
    model.drifts = group.rank() == 2;
    const auto optimizer = optim::make_sgd(model.parameters(), {});
    summaries[static_cast<std::size_t>(group.rank())] =
        train::train(*strategy_for(group, model, *optimizer), *dataset, *dataset,
                     {.batch_size = 2, .steps = 2}, {});
  });
  for (const auto& summary : summaries) CHECK_FALSE(summary.replicas_equal);
}
