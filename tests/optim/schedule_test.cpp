#include "engine/optim/schedule.hpp"

#include <numbers>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::Approx;
using optim::CosineSchedule;
using optim::learning_rate_at;

TEST_CASE("cosine schedule: warms up in equal parts, reaches the base, ends at zero") {
  const CosineSchedule schedule{0.4, 4, 12};
  CHECK(learning_rate_at(0, schedule) == Approx(0.1));
  CHECK(learning_rate_at(1, schedule) == Approx(0.2));
  CHECK(learning_rate_at(3, schedule) == Approx(0.4));
  CHECK(learning_rate_at(4, schedule) == Approx(0.4));
  CHECK(learning_rate_at(6, schedule) == Approx(0.2 * (1 + std::numbers::sqrt2 / 2)));
  CHECK(learning_rate_at(8, schedule) == Approx(0.2));
  CHECK(learning_rate_at(12, schedule) == 0);
  CHECK(learning_rate_at(1000, schedule) == 0);
}

TEST_CASE("cosine schedule: without warm-up it starts at the base and never rises") {
  const CosineSchedule schedule{1, 0, 100};
  CHECK(learning_rate_at(0, schedule) == 1);
  for (std::int64_t step = 1; step <= 100; ++step) {
    CHECK(learning_rate_at(step, schedule) < learning_rate_at(step - 1, schedule));
  }
}

TEST_CASE("cosine schedule: a warm-up longer than the run is all there is") {
  const CosineSchedule schedule{1, 10, 5};
  CHECK(learning_rate_at(4, schedule) == Approx(0.5));
  CHECK(learning_rate_at(10, schedule) == 0);
}

TEST_CASE("cosine schedule: negative steps and lengths are refused") {
  CHECK_THROWS_AS(learning_rate_at(-1, CosineSchedule{}), ContractError);
  CHECK_THROWS_AS(learning_rate_at(0, (CosineSchedule{1, -1, 5})), ContractError);
  CHECK_THROWS_AS(learning_rate_at(0, (CosineSchedule{1, 0, 0})), ContractError);
}
