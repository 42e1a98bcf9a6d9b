// The loop on one device and the data-parallel loop are the same training.
#include "engine/train/single_device_loop.hpp"

#include <array>
#include <vector>

#include "engine/data/distributed_sampler.hpp"
#include "engine/nn/mlp.hpp"
#include "engine/train/loop.hpp"
#include "engine/train/strategies/plain.hpp"
#include "tests/catch.hpp"
#include "tests/train/thread_group.hpp"

using namespace lockstep;

namespace {

constexpr std::int64_t batch_of_all = 64;
constexpr int epochs_alone = 2;
constexpr std::uint64_t fixed_seed = 5;

struct Learner {
  std::unique_ptr<nn::Module> model;
  std::unique_ptr<optim::Optimizer> optimizer;
};

Learner learner_for(const data::Dataset& dataset, Device& device) {
  const std::array widths{dataset.inputs(), std::int64_t{24}, dataset.classes()};
  Learner learner{nn::make_mlp(widths, DType::float64, device, 3), nullptr};
  learner.optimizer = optim::make_sgd(learner.model->parameters(), {0.05, 0.9, 0});
  return learner;
}

struct EpochLosses final : train::Observer {
  std::vector<double> losses;
  void on_step(const train::StepReport&) override {}
  void on_end(const train::Summary&) override {}
  void on_epoch(const train::EpochReport& report) override { losses.push_back(report.train_loss); }
};

}  // namespace

TEST_CASE("single device loop: N ranks with the same global batch have the same losses") {
  // 1000 samples: fifteen batches of 64, and a last one of 40, which four ranks share evenly.
  const auto dataset = data::make_synthetic(1000, 16, 5, 1);
  CpuDevice device;
  const Learner alone = learner_for(*dataset, device);
  const auto loader = data::make_plain_loader(
      *dataset,
      [&](int epoch) {
        return data::distributed_indices({dataset->size(), 0, 1, fixed_seed, epoch});
      },
      {.batch_size = batch_of_all, .dtype = DType::float64}, device);
  const auto losses =
      train::single_device_loop(*alone.model, *alone.optimizer, *loader, epochs_alone);
  REQUIRE(losses.size() == epochs_alone);
  CHECK(losses[1] < losses[0]);

  for (const int ranks : {1, 2, 4}) {
    CAPTURE(ranks);
    EpochLosses seen;
    test::on_ranks(ranks, [&](comm::ProcessGroup& group) {
      CpuDevice own;
      const Learner replica = learner_for(*dataset, own);
      train::TrainOptions options;
      options.batch_size = batch_of_all / ranks;
      options.epochs = epochs_alone;
      options.decay = optim::Decay::constant;
      options.seed = fixed_seed;
      EpochLosses mine;
      const std::array<train::Observer*, 1> observers{&mine};
      const auto strategy =
          train::make_plain(group, train::lend(*replica.model, *replica.optimizer), 0);
      train::train(*strategy, *dataset, *dataset, options, observers);
      if (group.rank() == 0) seen = mine;
    });
    REQUIRE(seen.losses.size() == epochs_alone);
    for (std::size_t epoch = 0; epoch < epochs_alone; ++epoch) {
      // Sums in another order, over 32 steps in float64.
      CHECK(seen.losses[epoch] == test::Approx(losses[epoch]).epsilon(1e-10));
    }
  }
}

TEST_CASE("single device loop: a negative number of epochs is refused") {
  CpuDevice device;
  const auto dataset = data::make_synthetic(10, 4, 2, 1);
  const Learner learner = learner_for(*dataset, device);
  const auto loader = data::make_plain_loader(
      *dataset, [](int) { return std::vector<std::int64_t>{0}; }, {}, device);
  CHECK_THROWS_AS(train::single_device_loop(*learner.model, *learner.optimizer, *loader, -1),
                  ContractError);
}
