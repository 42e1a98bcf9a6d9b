#include "engine/optim/scale_learning_rate.hpp"

#include <cmath>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::Approx;
using optim::lr_at;
using optim::ScaledRate;
using optim::Scaling;

TEST_CASE("scaled rate: 32 times the images, 32 times the rate, and the root of it") {
  ScaledRate rate{0.1, 256, 32, 256, 1, Scaling::linear, 0};
  CHECK(lr_at(0, rate) == Approx(3.2));
  rate.scaling = Scaling::square_root;
  CHECK(lr_at(0, rate) == Approx(0.1 * std::sqrt(32.0)));
  CHECK(lr_at(0, {0.1, 256, 4, 4, 4, Scaling::linear, 0}) == Approx(0.025));
  CHECK(lr_at(0, {0.1, 256, 16, 4, 4, Scaling::linear, 0}) == 0.1);
}

TEST_CASE("scaled rate: ranks, batches and samples count by their product") {
  const double whole = lr_at(5, {0.3, 7, 24, 1, 1, Scaling::linear, 9});
  for (const auto& [batch, ranks, accumulate] : {std::tuple{1, 24, 1}, {2, 3, 4}, {3, 1, 8}}) {
    CHECK(lr_at(5, {0.3, 7, batch, ranks, accumulate, Scaling::linear, 9}) == whole);
  }
}

TEST_CASE("scaled rate: the warm-up is a line from the base, and step `warmup` has it behind it") {
  const ScaledRate up{0.1, 64, 64, 3, 1, Scaling::linear, 4};
  for (int step = 0; step < 4; ++step) CHECK(lr_at(step, up) == Approx(0.1 + 0.05 * step));
  CHECK(lr_at(4, up) == Approx(0.3));
  CHECK(lr_at(1'000'000, up) == lr_at(4, up));
  const ScaledRate down{0.4, 64, 16, 1, 1, Scaling::linear, 3};
  for (int step = 0; step < 4; ++step) CHECK(lr_at(step, down) == Approx(0.4 - 0.1 * step));
}

TEST_CASE("scaled rate: what makes no sense is refused") {
  const auto refused = [](std::int64_t step, const ScaledRate& rate) {
    CHECK_THROWS_AS(lr_at(step, rate), ContractError);
  };
  refused(-1, {});
  refused(0, {.base_batch = 0});
  refused(0, {.batch = 0});
  refused(0, {.ranks = 0});
  refused(0, {.accumulate = 0});
  refused(0, {.warmup = -1});
}
