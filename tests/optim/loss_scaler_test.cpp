#include "engine/optim/loss_scaler.hpp"

#include <limits>

#include "tests/optim/fixture.hpp"

using namespace lockstep;
using lockstep::test::OptimFixture;
using optim::LossScaler;
using optim::LossScalerState;
using optim::Overflow;

TEST_CASE("loss scaler: halves on overflow and doubles after the interval, as PyTorch's") {
  LossScaler scaler({.initial_scale = 1024, .interval = 3});
  std::vector<double> scales;
  for (const int overflow : {0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}) {
    scaler.update(overflow == 1 ? Overflow::yes : Overflow::no);
    scales.push_back(scaler.scale());
  }
  CHECK(scales == std::vector<double>{1024, 1024, 2048, 1024, 1024, 1024, 512, 512, 512, 1024, 1024,
                                      1024, 2048});
}

TEST_CASE("loss scaler: begins with PyTorch's numbers and never grows to infinity") {
  LossScaler scaler;
  CHECK(scaler.scale() == 65536);
  for (int i = 0; i < 1999; ++i) scaler.update(Overflow::no);
  CHECK(scaler.scale() == 65536);
  scaler.update(Overflow::no);
  CHECK(scaler.scale() == 131072);

  const float largest = 0x1p127F;
  LossScaler high({.initial_scale = largest, .interval = 1});
  high.update(Overflow::no);
  CHECK(high.scale() == largest);
}

TEST_CASE("loss scaler: when every scale overflows it ends with a sentence, not at zero") {
  LossScaler scaler;
  const auto overflow_for_ever = [&] {
    for (int i = 0; i < 1000; ++i) scaler.update(Overflow::yes);
  };
  CHECK_THROWS_AS(overflow_for_ever(), Error);
  CHECK(scaler.scale() > 0);
}

TEST_CASE("loss scaler: it stops at its least scale, and a fixed one after 17 overflows in a row") {
  LossScaler scaler({.initial_scale = 8, .least = 2});
  scaler.update(Overflow::yes);
  scaler.update(Overflow::yes);
  CHECK(scaler.scale() == 2);
  CHECK_THROWS_WITH(scaler.update(Overflow::yes),
                    lockstep::test::contains("at every loss scale down to 2"));

  LossScaler fixed({.initial_scale = 100, .interval = 1, .rule = optim::ScaleRule::fixed});
  for (int k = 0; k < 33; ++k) fixed.update(k == 16 ? Overflow::no : Overflow::yes);
  CHECK(fixed.scale() == 100);
  CHECK(fixed.skipped() == 32);
  CHECK_THROWS_WITH(fixed.update(Overflow::yes),
                    lockstep::test::contains("in 17 steps in a row at the fixed loss scale 100"));
}

TEST_CASE_METHOD(OptimFixture, "loss scaler: gradients are divided by the scale, exactly") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    Parameter a = parameter({0, 0, 0}, dtype), none = parameter({0}, dtype);
    a.grad = gradient({65536, -3, 0}, dtype);
    const LossScaler scaler;
    CHECK(scaler.unscale_and_check(std::vector{&a, &none}) == Overflow::no);
    CHECK(values_of(a.grad) == std::vector<double>{1, -3.0 / 65536, 0});
  }
}

TEST_CASE_METHOD(OptimFixture, "loss scaler: one infinity or NaN anywhere is an overflow") {
  const double infinite = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const LossScaler scaler;
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const double bad : {infinite, -infinite, nan}) {
      for (std::size_t place = 0; place < 37; ++place) {
        std::vector<double> values(37, 1e30);
        values[place] = bad;
        Parameter a = parameter({1}, dtype), b = parameter(std::vector<double>(37), dtype);
        a.grad = gradient({1}, dtype);
        b.grad = gradient(values, dtype);
        CHECK(scaler.unscale_and_check(std::vector{&a, &b}) == Overflow::yes);
      }
    }
    Parameter large = parameter({1}, dtype);
    large.grad = gradient({3e38}, dtype);
    CHECK(scaler.unscale_and_check(std::vector{&large}) == Overflow::no);
  }
}

TEST_CASE("loss scaler: goes on from its state, and a state that cannot be is refused") {
  LossScaler straight({.interval = 5}), first({.interval = 5}), second({.interval = 5});
  for (int i = 0; i < 8; ++i) straight.update(i == 1 ? Overflow::yes : Overflow::no);
  for (int i = 0; i < 4; ++i) first.update(i == 1 ? Overflow::yes : Overflow::no);
  second.load_state(first.state());
  for (int i = 4; i < 8; ++i) second.update(Overflow::no);
  CHECK(second.state() == straight.state());
  CHECK(straight.scale() == 65536);

  CHECK_THROWS_AS(second.load_state({0, 0}), ContractError);
  CHECK_THROWS_AS(second.load_state({std::numeric_limits<float>::quiet_NaN(), 0}), ContractError);
  CHECK_THROWS_AS(second.load_state({1, 5}), ContractError);
  CHECK_THROWS_AS(second.load_state({1, -1}), ContractError);
  CHECK_THROWS_AS(LossScaler({.growth = 1}), ContractError);
  CHECK_THROWS_AS(LossScaler({.backoff = 1}), ContractError);
  CHECK_THROWS_AS(LossScaler({.interval = 0}), ContractError);
  CHECK_THROWS_AS(LossScaler({.initial_scale = 0}), ContractError);
}
