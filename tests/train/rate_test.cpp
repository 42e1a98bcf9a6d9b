// Which learning rate each step of the loop is given.
#include "engine/optim/schedule.hpp"

#include <array>
#include <optional>
#include <vector>

#include "engine/nn/mlp.hpp"
#include "engine/train/loop.hpp"
#include "engine/train/strategies/plain.hpp"
#include "tests/catch.hpp"
#include "tests/train/thread_group.hpp"

using namespace lockstep;
using lockstep::test::on_ranks;

TEST_CASE("training: the learning rate follows the schedule by optimizer steps") {
  // An optimizer that only writes down the rate it is given.
  struct Listener final : optim::Optimizer {
    std::vector<double> rates;
    double rate = 0.4;
    std::vector<Parameter*> all;
    void step() override { rates.push_back(rate); }
    void zero_grad() override {
      for (Parameter* p : all) p->grad = {};
    }
    double learning_rate() const override { return rate; }
    void set_learning_rate(double value) override { rate = value; }
    std::span<Parameter* const> parameters() const override { return all; }
    std::string_view kind() const override { return "listener"; }
    std::vector<optim::StateTensor> state() const override { return {}; }
    void load_state(std::span<const optim::StateTensor>) override {}
  };
  const auto dataset = data::make_synthetic(20, 4, 2, 1);
  const auto rates = [&](optim::Decay decay, std::optional<optim::Scaling> scaling = {}) {
    Listener listener;
    on_ranks(1, [&](comm::ProcessGroup& group) {
      CpuDevice device;
      const std::array<std::int64_t, 3> widths{4, 24, 2};
      const auto model = nn::make_mlp(widths, DType::float32, device, 3);
      listener.all = model->parameters();
      train::TrainOptions options{.batch_size = 5, .steps = 6, .decay = decay, .warmup = 2};
      options.scaling = scaling;
      options.base_batch = 20;
      const auto strategy = train::make_plain(group, train::lend(*model, listener), 0);
      train::train(*strategy, *dataset, *dataset, options, {});
    });
    CHECK(listener.rate == 0.4);  // handed back as it was
    return listener.rates;
  };
  CHECK(rates(optim::Decay::constant) == std::vector<double>{0.2, 0.4, 0.4, 0.4, 0.4, 0.4});
  const auto cosine = rates(optim::Decay::cosine);
  REQUIRE(cosine.size() == 6);
  for (std::int64_t k = 0; k < 6; ++k) {
    CHECK(cosine[static_cast<std::size_t>(k)] ==
          optim::learning_rate_at(k, {optim::Decay::cosine, 0.4, 2, 6}));
  }

  // A quarter of the batch that 0.4 was found for: the warm-up begins at 0.4, and what decays
  // afterwards is the scaled rate.
  CHECK(rates(optim::Decay::constant, optim::Scaling::square_root) ==
        std::vector<double>{0.4, 0.4 + (0.2 - 0.4) / 2, 0.2, 0.2, 0.2, 0.2});
  const auto scaled = rates(optim::Decay::cosine, optim::Scaling::linear);
  for (std::int64_t k = 2; k < 6; ++k) {
    CHECK(scaled[static_cast<std::size_t>(k)] ==
          optim::learning_rate_at(k, {optim::Decay::cosine, 0.1, 2, 6}));
  }
}
