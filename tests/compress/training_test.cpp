// Runs with each compression: losses fall, replicas stay equal, and the bytes are those of the
// formulas.
#include <array>
#include <cmath>

#include "engine/parallel/compress/compression.hpp"
#include "engine/train/loop.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "tests/catch.hpp"
#include "tests/train/fiber_ranks.hpp"

using namespace lockstep;
using lockstep::compress::compression_of;
using lockstep::test::on_fibers;

namespace {

struct Recorded final : train::Observer {
  std::vector<train::StepReport> steps;
  std::vector<train::EpochReport> epochs;
  void on_step(const train::StepReport& report) override { steps.push_back(report); }
  void on_epoch(const train::EpochReport& report) override { epochs.push_back(report); }
  void on_end(const train::Summary&) override {}
  double first_loss() const { return steps.front().loss; }
  double last_loss() const { return epochs.back().train_loss; }
};

constexpr std::int64_t inputs = 32, hidden = 24, classes = 5;
constexpr std::int64_t weights_one = inputs * hidden, weights_two = hidden * classes;
constexpr std::int64_t parameters = weights_one + hidden + weights_two + classes;

using Make = std::function<std::unique_ptr<train::Strategy>(comm::ProcessGroup& group,
                                                            Device& device, const train::Recipe&)>;

struct Compressed {
  compress::Compression compression{};
  std::int64_t accumulate = 1;
};

Compressed with(const std::string& words) { return {compression_of(words)}; }

Make engine_with(const Compressed& options, const train::WatchHook& watch = {}) {
  return [=](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe) {
    train::DdpRun run{.accumulate = options.accumulate};
    run.options.limits = {256, 2048};  // two buckets: the second layer's, the first layer's
    if (options.compression.compressor != compress::Compressor::none) {
      run.hooked.hook = compress::make_hook(options.compression, recipe.seed);
    }
    run.hooked.watch = watch;
    return train::make_ddp_or_plain(group, device, recipe, std::move(run));
  };
}

// What rank 0 saw.
Recorded run_with(int ranks, const Make& make, std::int64_t epochs = 3, double rate = 0.05) {
  Recorded seen;
  const auto train_set = data::make_synthetic(960, inputs, classes, 1);
  const auto test_set = data::make_synthetic(100, inputs, classes, 2);
  train::Recipe recipe;
  recipe.model.widths = {inputs, hidden, classes};
  recipe.optimizer.sgd = {.learning_rate = rate, .momentum = 0.9};
  recipe.seed = 3;
  on_fibers(ranks, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto strategy = make(group, device, recipe);
    Recorded mine;
    const std::array<train::Observer*, 1> observers{&mine};
    train::TrainOptions options{.batch_size = 48 / ranks, .epochs = epochs};
    train::train(*strategy, *train_set, *test_set, options, observers);
    if (group.rank() == 0) seen = std::move(mine);
  });
  return seen;
}

}  // namespace

TEST_CASE("compressed training: with each compression, losses fall and replicas stay equal") {
  const std::string words =
      GENERATE("fp16", "bf16", "int8", "topk:0.1", "randomk:0.5", "powersgd:2");
  const int ranks = GENERATE(2, 3, 8);
  CAPTURE(words, ranks);
  const Recorded run = run_with(ranks, engine_with(with(words)));
  CHECK(run.last_loss() < 0.7 * run.first_loss());
  for (const auto& epoch : run.epochs) CHECK(epoch.agreement.differs == -1);
}

TEST_CASE("compressed training: 16 and 8 bits end where float32 ends") {
  const Recorded plain = run_with(4, engine_with(with("none")));
  for (const char* words : {"fp16", "bf16", "int8"}) {
    CAPTURE(words);
    const Recorded run = run_with(4, engine_with(with(words)));
    CHECK(run.first_loss() == plain.first_loss());
    // Gradients that are off by at most 2^-8 of the largest move a loss far less than by 3 %.
    CHECK(run.last_loss() == test::Approx(plain.last_loss()).epsilon(0.03));
    CHECK(run.last_loss() != plain.last_loss());  // it was compressed
  }
}

TEST_CASE("compressed training: without error feedback, top-k and PowerSGD learn less") {
  const std::string words = GENERATE("topk:0.02", "powersgd:1");
  Compressed options = with(words);
  const Recorded plain = run_with(4, engine_with(with("none")), 6);
  const Recorded kept = run_with(4, engine_with(options), 6);
  options.compression.feedback = compress::ErrorFeedback::off;
  const Recorded forgot = run_with(4, engine_with(options), 6);
  CAPTURE(words, plain.last_loss(), kept.last_loss(), forgot.last_loss());
  CHECK(plain.last_loss() < 0.8 * forgot.last_loss());
  CHECK(kept.last_loss() < 0.8 * forgot.last_loss());
  // The second pass has nothing to add yet, so the third is the first that differs.
  CHECK(forgot.steps[2].loss == kept.steps[2].loss);
  CHECK(forgot.steps[3].loss != kept.steps[3].loss);
}

TEST_CASE("compressed training: a steady step sends what the formulas say") {
  // Two ranks: an all-reduce of n bytes sends n. Beside the gradients travel two float64, the loss
  // and what is missing.
  constexpr std::int64_t beside = 16;
  const auto sent_with = [](const char* words) {
    const Recorded run = run_with(2, engine_with(with(words)), 1);
    for (std::size_t k = 3; k < run.steps.size(); ++k) {
      CHECK(run.steps[k].bytes_sent == run.steps[2].bytes_sent);
    }
    return run.steps[2].bytes_sent - beside;
  };
  const auto share = [](double fraction, std::int64_t count) {
    return std::llround(fraction * static_cast<double>(count));
  };
  CHECK(sent_with("none") == 4 * parameters);
  CHECK(sent_with("fp16") == 2 * parameters);
  CHECK(sent_with("bf16") == 2 * parameters);
  const double dense = static_cast<double>(sent_with("none"));
  CHECK(static_cast<double>(sent_with("int8")) / dense == test::Approx(0.25).epsilon(0.03));
  // The buckets of the second layer and of the first.
  constexpr std::int64_t second = weights_two + classes, first = weights_one + hidden;
  CHECK(sent_with("topk:0.1") == 8 * (share(0.1, second) + share(0.1, first)));
  CHECK(sent_with("randomk:0.1") == 4 * (share(0.1, second) + share(0.1, first)));
  // Both matrices shrink by more than two: 768 to 112, and 120 to 58.
  CHECK(sent_with("powersgd:2") ==
        4 * (2 * (inputs + hidden) + 2 * (hidden + classes) + hidden + classes));
  CHECK(sent_with("powersgd:3") == 4 * (3 * (inputs + hidden) + weights_two + hidden + classes));
}

TEST_CASE("compressed training: on one rank nothing travels, so nothing is compressed") {
  Compressed options = with("int8");
  options.accumulate = 2;  // so that DDP runs there at all
  const Recorded compressed = run_with(1, engine_with(options));
  options = with("none");
  options.accumulate = 2;
  const Recorded plain = run_with(1, engine_with(options));
  for (std::size_t k = 0; k < plain.steps.size(); ++k) {
    CHECK(compressed.steps[k].loss == plain.steps[k].loss);
  }
}

TEST_CASE("compressed training: a watcher changes no bit, with and without compression") {
  struct Counts final : collectives::CommHook {
    collectives::CommHook* inner = nullptr;
    int started = 0;
    comm::Work start(comm::ProcessGroup& group,
                     const collectives::GradientBucket& bucket) override {
      ++started;
      return inner->start(group, bucket);
    }
  };
  for (const char* words : {"none", "topk:0.1"}) {
    const Recorded alone = run_with(3, engine_with(with(words)), 1);
    std::array<Counts, 3> counts;
    const Recorded watched = run_with(
        3,
        [&](comm::ProcessGroup& group, Device& device, const train::Recipe& recipe) {
          Counts& mine = counts[static_cast<std::size_t>(group.rank())];
          const auto watch = [&mine](collectives::CommHook& hook) -> collectives::CommHook& {
            mine.inner = &hook;
            return mine;
          };
          return engine_with(with(words), watch)(group, device, recipe);
        },
        1);
    REQUIRE(watched.steps.size() == alone.steps.size());
    for (std::size_t k = 0; k < alone.steps.size(); ++k) {
      CHECK(watched.steps[k].loss == alone.steps[k].loss);
    }
    CHECK(counts[0].started >= static_cast<int>(alone.steps.size()));
  }
}
