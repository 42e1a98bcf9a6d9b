#include "engine/plan/training_time.hpp"

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::plan;

TEST_CASE("training time: a million samples on one, two and eight ranks") {
  const MeasuredRun run{
      .samples = 1'000'000, .batch_size = 32, .epochs = 10, .step_s = 1, .efficiency = 1};
  CHECK(training_time(run, 1).seconds == 312'500);
  CHECK(training_time(run, 2).seconds == 156'250);
  CHECK(training_time(run, 8).seconds == 39'070);
  CHECK(training_time(run, 8).updates == 39'070);
  CHECK(training_time(run, 8).rank_seconds == 312'560);
}

TEST_CASE("training time: lost efficiency is paid for") {
  MeasuredRun run{.samples = 6400, .batch_size = 32, .epochs = 1, .step_s = 1, .efficiency = 0.5};
  const TimeEstimate half = training_time(run, 4);
  run.efficiency = 1;
  const TimeEstimate full = training_time(run, 4);
  CHECK(half.updates == full.updates);
  CHECK(half.rank_seconds == 2 * full.rank_seconds);
}

TEST_CASE("training time: GPT-3 on one device, in years") {
  constexpr double year_s = 365.25 * 24 * 3600;
  const CountedRun gpt3{175'000'000'000, 300'000'000'000, 3'200'000};
  CHECK(training_time(gpt3, {28e12, 1}, 1).seconds / year_s == Approx(356.5).margin(0.1));
  CHECK(training_time(gpt3, {125e12, 0.4}, 1).seconds / year_s == Approx(199.6).margin(0.1));
  CHECK(training_time(gpt3, {125e12, 0.4}, 1).updates == 93'750);
}

TEST_CASE("training time: what makes no sense is refused") {
  const MeasuredRun run{.samples = 10, .batch_size = 2, .epochs = 1, .step_s = 1, .efficiency = 1};
  CHECK_THROWS_AS(training_time(run, 0), ContractError);
  MeasuredRun too_good = run;
  too_good.efficiency = 1.1;
  CHECK_THROWS_AS(training_time(too_good, 1), ContractError);
  CHECK_THROWS_AS(training_time({1, 1, 1}, {1e12, 0}, 1), ContractError);
}
