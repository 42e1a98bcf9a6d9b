// The clock of plans: uneven parts, transfers, both bubbles, and what stages keep.
#include "engine/parallel/pipeline/timeline.hpp"

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/plan.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::pipeline;

TEST_CASE("pipeline: the bubble of p 4, m 8 is 37.5 % of the ideal time and 27.3 % of the total") {
  for (const auto schedule : {Schedule::gpipe, Schedule::one_f_one_b}) {
    const PlanTimeline timeline = price(make_plan(schedule, 4, 1, 8));
    CHECK(timeline.makespan_s == 33);
    CHECK(timeline.bubble_of_ideal() == Approx(3.0 / 8));
    CHECK(timeline.bubble_of_total() == Approx(3.0 / 11));
  }
  const PlanTimeline alone = price(make_plan(Schedule::gpipe, 1, 1, 3));
  CHECK(alone.makespan_s == 9);
  CHECK(alone.bubble_of_ideal() == 0);
}

TEST_CASE("pipeline: the slowest part sets the pace") {
  const Plan plan = make_plan(Schedule::one_f_one_b, 2, 1, 3);
  // Stage 1 takes 2 + 4 for each micro-batch; stage 0 has its first and last pass around them.
  const PlanTimeline timeline = price(plan, {{{1, 2, 1, 1}, {2, 4, 2, 2}}});
  CHECK(timeline.makespan_s == 1 + 3 * 6 + 2);
  CHECK(timeline.stages[1].busy_s == 18);
}

TEST_CASE("pipeline: a chunk's cost is that of its part, chunk p + stage") {
  std::vector<PassCosts> parts(4);
  parts[2].forward_s = 10;  // chunk 1 of stage 0
  const PlanTimeline timeline = price(make_plan(Schedule::interleaved, 2, 2, 2), {parts});
  double longest = 0;
  for (const Span& span : timeline.stages[0].spans) {
    if (span.action.pass != Pass::forward) continue;
    CHECK(span.end_s - span.start_s == (span.action.chunk == 1 ? 10 : 1));
    longest = std::max(longest, span.end_s - span.start_s);
  }
  CHECK(longest == 10);
}

TEST_CASE("pipeline: a transfer delays the next stage, and never a stage's own next chunk") {
  const Plan plan = make_plan(Schedule::gpipe, 3, 1, 1);
  CHECK(price(plan).makespan_s == 9);
  CHECK(price(plan, {{PassCosts{}}, 0.5}).makespan_s == 9 + 4 * 0.5);
  const Plan one = make_plan(Schedule::interleaved, 1, 3, 2);
  CHECK(price(one, {{PassCosts{}}, 0.5}).makespan_s == price(one).makespan_s);
}

TEST_CASE("pipeline: what a stage keeps is counted from the forward pass to W") {
  const PlanTimeline timeline = price(make_plan(Schedule::zero_bubble, 4, 1, 8));
  for (std::size_t s = 0; s < 4; ++s) {
    CHECK(timeline.stages[s].in_flight_max == 4);
    // Stage s is s weight gradients behind, and one more between an I and its turn.
    CHECK(timeline.stages[s].kept_for_weights_max == static_cast<int>(s) + 1);
  }
  const PlanTimeline whole = price(make_plan(Schedule::one_f_one_b, 4, 1, 8));
  CHECK(whole.stages[0].kept_for_weights_max == 0);
}

TEST_CASE("pipeline: of a plan that stops, what runs before is priced") {
  const Plan plan{
      2,
      1,
      2,
      {{{Pass::forward, 0}, {Pass::backward, 0}, {Pass::forward, 1}, {Pass::backward, 1}},
       {{Pass::forward, 0}, {Pass::forward, 1}, {Pass::backward, 0}, {Pass::backward, 1}}}};
  CHECK_THROWS_AS(price(plan), ContractError);
  const PlanTimeline timeline = price_what_runs(plan);
  CHECK(timeline.stages[0].spans.size() == 1);
  CHECK(timeline.stages[1].spans.size() == 1);
  CHECK(timeline.makespan_s == 2);
}

TEST_CASE("pipeline: costs that are none are refused") {
  const Plan plan = make_plan(Schedule::gpipe, 3, 1, 1);
  CHECK_THROWS_WITH(price(plan, {std::vector<PassCosts>(2)}),
                    test::contains("costs of 2 parts for a plan of 3"));
  CHECK_THROWS_AS(price(plan, {{PassCosts{-1, 2, 1, 1}}}), ContractError);
  CHECK_THROWS_AS(price(plan, {{PassCosts{}}, -1}), ContractError);
}
