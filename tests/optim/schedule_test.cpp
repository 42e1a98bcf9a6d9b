#include "engine/optim/schedule.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::Approx;
using optim::Decay;
using optim::learning_rate_at;
using optim::Schedule;

namespace {

constexpr std::array shapes{Decay::constant, Decay::linear, Decay::cosine};

}  // namespace

TEST_CASE("schedule: warms up in equal parts to the base, whatever follows") {
  for (const Decay decay : shapes) {
    const Schedule schedule{decay, 0.4, 4, 12};
    CHECK(learning_rate_at(0, schedule) == Approx(0.1));
    CHECK(learning_rate_at(1, schedule) == Approx(0.2));
    CHECK(learning_rate_at(3, schedule) == Approx(0.4));
    CHECK(learning_rate_at(4, schedule) == Approx(0.4));
  }
}

TEST_CASE("schedule: constant stays, linear is half way at the middle, cosine as well") {
  CHECK(learning_rate_at(1'000'000, {Decay::constant, 0.4, 4, 12}) == 0.4);
  CHECK(learning_rate_at(6, {Decay::linear, 0.4, 4, 12}) == Approx(0.3));
  CHECK(learning_rate_at(8, {Decay::linear, 0.4, 4, 12}) == Approx(0.2));
  CHECK(learning_rate_at(6, {Decay::cosine, 0.4, 4, 12}) ==
        Approx(0.2 * (1 + std::numbers::sqrt2 / 2)));
  CHECK(learning_rate_at(8, {Decay::cosine, 0.4, 4, 12}) == Approx(0.2));
}

TEST_CASE("schedule: linear and cosine follow PyTorch's schedulers") {
  // golden.py; both end at a tenth of the base. The sums behind PyTorch's numbers differ by
  // roundings of numbers below 1.
  const auto check = [](Decay decay, const std::vector<double>& want) {
    for (std::size_t k = 0; k < want.size(); ++k) {
      CAPTURE(k);
      const double got = learning_rate_at(static_cast<std::int64_t>(k), {decay, 0.4, 3, 13, 0.04});
      CHECK(std::abs(got - want[k]) <= 1e-15);
    }
  };
  check(Decay::linear,
        {0.13333333333333333, 0.26666666666666666, 0.40000000000000002, 0.40000000000000002,
         0.36400000000000005, 0.32800000000000007, 0.29200000000000009, 0.25600000000000006,
         0.22000000000000006, 0.18400000000000005, 0.14800000000000005, 0.11200000000000004,
         0.07600000000000004, 0.040000000000000029});
  check(Decay::cosine,
        {0.13333333333333333, 0.26666666666666666, 0.40000000000000002, 0.40000000000000002,
         0.39119017293312769, 0.36562305898749053, 0.32580134541264516, 0.27562305898749057,
         0.22000000000000003, 0.16437694101250949, 0.11419865458735487, 0.074376941012509482,
         0.048809827066872369, 0.040000000000000001});
}

TEST_CASE("schedule: without warm-up a decay starts at the base, falls, and stays at its end") {
  for (const Decay decay : {Decay::linear, Decay::cosine}) {
    const Schedule schedule{decay, 1, 0, 100, 0.25};
    CHECK(learning_rate_at(0, schedule) == 1);
    for (std::int64_t step = 1; step <= 100; ++step) {
      CHECK(learning_rate_at(step, schedule) < learning_rate_at(step - 1, schedule));
    }
    CHECK(learning_rate_at(100, schedule) == 0.25);
    CHECK(learning_rate_at(std::numeric_limits<std::int64_t>::max(), schedule) == 0.25);
  }
}

TEST_CASE("schedule: a warm-up longer than the run is all there is") {
  const Schedule schedule{Decay::cosine, 1, 10, 5};
  CHECK(learning_rate_at(4, schedule) == Approx(0.5));
  CHECK(learning_rate_at(10, schedule) == 0);
}

TEST_CASE("schedule: negative steps and lengths are refused") {
  CHECK_THROWS_AS(learning_rate_at(-1, Schedule{}), ContractError);
  CHECK_THROWS_AS(learning_rate_at(0, {Decay::linear, 1, -1, 5}), ContractError);
  CHECK_THROWS_WITH(learning_rate_at(0, {Decay::linear, 1, 0, 0}),
                    test::contains("the whole at least 1"));
}
