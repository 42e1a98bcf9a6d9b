// What the tests of strategies share: a small model on small data, what a rank sees of a run, and
// checkpoints in a folder.
#pragma once

#include <array>
#include <cmath>
#include <filesystem>
#include <vector>

#include "engine/checkpoint/file_storage.hpp"
#include "engine/train/loop.hpp"
#include "engine/train/save.hpp"
#include "tests/catch.hpp"

namespace lockstep::test {

// What one rank saw.
struct Losses final : train::Observer {
  std::vector<train::StepReport> steps;
  std::vector<train::EpochReport> epochs;
  train::Summary summary;
  void on_step(const train::StepReport& report) override { steps.push_back(report); }
  void on_epoch(const train::EpochReport& report) override { epochs.push_back(report); }
  void on_end(const train::Summary& all) override { summary = all; }
};

inline train::Recipe small_recipe(optim::OptimizerKind optimizer, std::uint64_t seed = 3) {
  train::Recipe recipe;
  recipe.model.widths = {16, 24, 12, 5};
  recipe.model.dtype = DType::float64;
  recipe.optimizer.kind = optimizer;
  recipe.optimizer.sgd = {.learning_rate = 0.05, .momentum = 0.9};
  recipe.seed = seed;
  return recipe;
}

inline void save_into(checkpoint::Storage& storage, train::Strategy& strategy,
                      std::string_view optimizer, const train::Position& at,
                      train::SaveForm form = train::SaveForm::dense) {
  const optim::LossScaler* scaler = strategy.loss_scaler();
  train::save(strategy, form, optimizer, storage,
              {.step = at.step,
               .epoch = at.epoch,
               .taken = at.taken,
               .loss_scaler = scaler != nullptr ? std::optional(scaler->state()) : std::nullopt},
              {});
}

// Trains a small_recipe's model on 120 samples. With a folder, goes on from the latest checkpoint
// in it, if any, and saves there.
inline void train_small(comm::ProcessGroup& group, train::Strategy& strategy,
                        std::string_view optimizer, train::TrainOptions options,
                        const std::filesystem::path& folder, train::Observer& observer) {
  const auto train_set = data::make_synthetic(120, 16, 5, 1);
  const auto test_set = data::make_synthetic(41, 16, 5, 2);
  if (!folder.empty()) {
    if (const auto latest = checkpoint::latest_in(folder)) {
      const checkpoint::SavedRun saved(*latest);
      strategy.restore(saved);
      options.start = {saved.state().step, saved.state().epoch, saved.state().taken};
    }
    group.barrier();  // nobody looks for the latest when there is one of this run
    options.save = [&](const train::Position& at) {
      checkpoint::FileStorage storage(folder);
      save_into(storage, strategy, optimizer, at);
    };
  }
  const std::array<train::Observer*, 1> observers{&observer};
  train::train(strategy, *train_set, *test_set, options, observers);
}

inline void check_same(const Losses& one, const Losses& other, double tolerance) {
  REQUIRE(one.steps.size() == other.steps.size());
  for (std::size_t k = 0; k < one.steps.size(); ++k) {
    CAPTURE(k, one.steps[k].loss, other.steps[k].loss);
    CHECK(std::abs(one.steps[k].loss / other.steps[k].loss - 1) <= tolerance);
  }
  REQUIRE(one.epochs.size() == other.epochs.size());
  for (std::size_t e = 0; e < one.epochs.size(); ++e) {
    CHECK(std::abs(one.epochs[e].test_loss / other.epochs[e].test_loss - 1) <= tolerance);
    CHECK(one.epochs[e].agreement.differs == -1);
  }
}

// `rest` went on where `expected` was after `steps`.
inline void check_continues(const Losses& rest, const Losses& expected, std::size_t steps) {
  REQUIRE(rest.steps.size() == expected.steps.size() - steps);
  for (std::size_t k = 0; k < rest.steps.size(); ++k) {
    CAPTURE(k);
    // AdamW divides by what rounding left of zero.
    CHECK(std::abs(rest.steps[k].loss / expected.steps[k + steps].loss - 1) <= 1e-9);
  }
}

// Sums in another order, in float64, over some 30 steps with momentum.
constexpr double rounding = 1e-12;

}  // namespace lockstep::test
