// The measure of data parallelism: N ranks train as one that sees all their samples.
#include "tests/catch.hpp"
#include "tests/horovod/gpt_runs.hpp"
#include "tests/horovod/ranks.hpp"

using namespace lockstep;
using lockstep::test::GptRun;
using lockstep::test::GptSeen;
using lockstep::test::gradients_apart;
using lockstep::test::losses_apart;
using lockstep::test::on_sim;

namespace {

// Sums of some hundred float64 terms in another order, of which some cancel: 1e-14 was seen. After
// 20 steps with momentum the losses have the roundings of all steps before.
constexpr double rounding = 1e-12;

GptSeen seen_on(int ranks, const GptRun& run) {
  std::vector<GptSeen> seen(static_cast<std::size_t>(ranks));
  const auto ran = on_sim(ranks, [&](comm::ProcessGroup& group, Strands& strands) {
    seen[static_cast<std::size_t>(group.rank())] = test::run_gpt(group, strands, run);
  });
  CHECK(ran.all() == "");
  for (const GptSeen& each : seen) {
    CHECK(each.weights == seen[0].weights);
    CHECK(each.gradients == seen[0].gradients);
  }
  return seen[0];
}

}  // namespace

TEST_CASE(
    "horovod on sim: a GPT on 1, 2, 3, 4, 5 and 8 ranks has one rank's gradients and losses") {
  static const GptSeen alone = seen_on(1, {});
  CHECK(alone.losses.back() != alone.losses.front());
  const int ranks = GENERATE(2, 3, 4, 5, 8);
  const int passes = ranks == 2 || ranks == 3 ? GENERATE(1, 4) : 1;
  CAPTURE(ranks, passes);
  for (const auto& [threshold, cycle_s] :
       {std::pair<std::int64_t, double>{std::int64_t{128} << 20, 1e-3}, {2000, 0}, {0, 0}}) {
    CAPTURE(threshold, cycle_s);
    GptRun run{.passes = passes};
    run.options.fusion_threshold_bytes = threshold;
    run.options.cycle_s = cycle_s;
    const GptSeen seen = seen_on(ranks, run);
    CHECK(gradients_apart(seen, alone) <= rounding);
    CHECK(losses_apart(seen, alone) <= rounding);
  }
}

TEST_CASE("horovod on sim: gradients that are N times too large are far from one rank's") {
  const GptSeen alone = seen_on(1, {.steps = 4});
  GptRun summed{.steps = 4};
  summed.options.combine = horovod::Combine::sum;
  const GptSeen seen = seen_on(3, summed);
  CHECK(gradients_apart(seen, alone) > 1.9);  // 3 - 1
  CHECK(losses_apart(seen, alone) > 1e-4);
  // With one rank, a sum is the average.
  CHECK(losses_apart(seen_on(1, summed), alone) == 0);
}

TEST_CASE("horovod on sim: Adam is wrapped unchanged") {
  const GptRun run{.steps = 8, .rule = optim::OptimizerKind::adam};
  // Adam divides by the root of a second moment, which lifts roundings where a gradient is nearly
  // zero.
  CHECK(losses_apart(seen_on(4, run), seen_on(1, run)) <= 1e-9);
}
