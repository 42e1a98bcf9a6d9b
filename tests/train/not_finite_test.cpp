// A run whose state is not finite: when it is noticed, by whom, and what is kept.
#include <array>
#include <cmath>
#include <functional>
#include <mutex>
#include <vector>

#include "engine/nn/mlp.hpp"
#include "engine/train/loop.hpp"
#include "engine/train/strategies/plain.hpp"
#include "tests/catch.hpp"
#include "tests/train/thread_group.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::on_ranks;

namespace {

std::unique_ptr<nn::Module> small_model(Device& device) {
  return nn::make_mlp(std::array<std::int64_t, 3>{16, 24, 5}, DType::float32, device, 3);
}

// Plants a NaN after a step, before what the loop does with its result.
struct Planter final : train::Observer {
  std::function<void()> plant;
  std::int64_t at = 0;
  void on_step(const train::StepReport& report) override {
    if (report.step == at) plant();
  }
  void on_epoch(const train::EpochReport&) override {}
  void on_end(const train::Summary&) override {}
};

enum class Where { weight, state };

struct Planted {
  std::string told;                 // what the run ended with
  std::vector<std::int64_t> saved;  // steps
};

// Four steps, saved after each second one, on two ranks; a NaN on rank 1 after step `at`.
Planted planted(Where where, std::int64_t at) {
  Planted seen;
  std::mutex guards_seen;
  const auto train_set = data::make_synthetic(1000, 16, 5, 1);
  on_ranks(2, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto model = small_model(device);
    const auto optimizer = optim::make_sgd(model->parameters(), {0.05, 0.9, 0});
    Planter planter;
    planter.at = at;
    planter.plant = [&] {
      const Tensor value =
          where == Where::state ? optimizer->state().front().value : model->parameters()[2]->value;
      if (group.rank() == 1) value.data<float>()[0] = std::nanf("");
    };
    const std::array<train::Observer*, 1> observers{&planter};
    const auto strategy = train::make_plain(group, train::lend(*model, *optimizer), 0);
    train::TrainOptions options;
    options.batch_size = 16;
    options.steps = 4;
    options.save_every = 2;
    options.save = [&](const train::Position& position) {
      train::gather_whole(group, 0, strategy->pieces(), device);
      const std::scoped_lock lock(guards_seen);
      if (group.rank() == 0) seen.saved.push_back(position.step);
    };
    try {
      train::train(*strategy, *train_set, *train_set, options, observers);
    } catch (const Error& error) {
      const std::scoped_lock lock(guards_seen);
      // Both ranks end alike.
      CHECK((seen.told.empty() || seen.told == error.what()));
      seen.told = error.what();
    }
  });
  return seen;
}

}  // namespace

TEST_CASE("training: a state that is not finite after the last step is neither saved nor equal") {
  for (const Where where : {Where::weight, Where::state}) {
    const Planted seen = planted(where, 4);
    CAPTURE(static_cast<int>(where), seen.told);
    CHECK(seen.saved == std::vector<std::int64_t>{2});
    CHECK_THAT(seen.told, contains("after step 4, ") && contains(" is nan on rank 1. ") &&
                              contains("The update of step 4 made it so, or one since step 2") &&
                              contains("a learning rate of ") && contains("It is not saved"));
  }
}

TEST_CASE("training: a NaN in between is found by the next loss, or else by the next save") {
  const Planted first = planted(Where::weight, 1);
  CHECK(first.saved.empty());
  CHECK_THAT(first.told, contains("the loss became nan at step 2") && contains("smaller --lr"));
  // In the optimizer's state alone, from which the next update takes it.
  const Planted state = planted(Where::state, 3);
  CHECK(state.saved == std::vector<std::int64_t>{2});
  CHECK_THAT(state.told, contains("after step 4, ") && contains(" is nan on rank 1. "));
}

TEST_CASE("training: a first loss that is no number is not put down to the rate") {
  const auto train_set = data::make_synthetic(100, 16, 5, 1);
  on_ranks(1, [&](comm::ProcessGroup& group) {
    CpuDevice device;
    const auto model = small_model(device);
    const auto optimizer = optim::make_sgd(model->parameters(), {0.05, 0.9, 0});
    const auto strategy = train::make_plain(group, train::lend(*model, *optimizer), 0);
    model->parameters()[0]->value.data<float>()[0] = std::nanf("");
    try {
      train::train(*strategy, *train_set, *train_set, {.batch_size = 8, .steps = 2}, {});
      FAIL("it trains");
    } catch (const Error& error) {
      CHECK_THAT(error.what(), contains("the loss became nan at step 1: this run has not taken a "
                                        "step yet, so --lr is not the cause") &&
                                   !contains("too large"));
    }
  });
}
