// What the schedules promise: the length of a step and what the stages keep, for 200 drawn
// pipelines each; and lists that are known from elsewhere.
#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/parallel/pipeline/partition_layers.hpp"
#include "engine/parallel/pipeline/plan.hpp"
#include "tests/catch.hpp"
#include "tests/pipeline/drawn.hpp"

using namespace lockstep;
using namespace lockstep::pipeline;

namespace {

constexpr int draws = 200;

// Sums of some hundred costs, added up in another order.
void check_length(double seen, double formula) {
  CHECK(seen == Approx(formula).epsilon(1e-12).margin(1e-12));
}

std::string list_of(const Plan& plan, int stage) {
  std::string list;
  for (const Action& action : plan.actions[static_cast<std::size_t>(stage)]) {
    list += (list.empty() ? "" : " ") + text_of(action, plan.chunks);
  }
  return list;
}

}  // namespace

TEST_CASE("pipeline: GPipe and 1F1B take (m+p-1)(tF+tB), and keep m and min(p-s, m)") {
  test::Draws drawn(11);
  for (int k = 0; k < draws; ++k) {
    const int p = drawn.between(1, 8), m = drawn.between(1, 20);
    const PassCosts costs = drawn.costs();
    const double length = (m + p - 1) * (costs.forward_s + costs.backward_s);
    INFO("p " << p << ", m " << m << ", tF " << costs.forward_s << ", tB " << costs.backward_s);
    const PlanTimeline all = price(make_plan(Schedule::gpipe, p, 1, m), {{costs}});
    const PlanTimeline one = price(make_plan(Schedule::one_f_one_b, p, 1, m), {{costs}});
    check_length(all.makespan_s, length);
    check_length(one.makespan_s, length);
    for (int s = 0; s < p; ++s) {
      CHECK(all.stages[static_cast<std::size_t>(s)].in_flight_max == m);
      CHECK(one.stages[static_cast<std::size_t>(s)].in_flight_max == std::min(p - s, m));
    }
  }
}

TEST_CASE("pipeline: the interleaved schedule takes (m v+p-1)(tF+tB), and keeps p v+p-1 at most") {
  test::Draws drawn(12);
  for (int k = 0; k < draws; ++k) {
    const int p = drawn.between(1, 8), v = drawn.between(1, 5), m = p * drawn.between(1, 4);
    const PassCosts costs = drawn.costs();
    INFO("p " << p << ", v " << v << ", m " << m);
    const PlanTimeline timeline = price(make_plan(Schedule::interleaved, p, v, m), {{costs}});
    check_length(timeline.makespan_s, (m * v + p - 1) * (costs.forward_s + costs.backward_s));
    for (int s = 0; s < p; ++s) {
      const int kept = timeline.stages[static_cast<std::size_t>(s)].in_flight_max;
      CHECK(kept == std::min(m * v, p * v + p - 1 - 2 * s));
    }
  }
}

TEST_CASE(
    "pipeline: ZB-H1 takes what its formula says, never more than 1F1B, and keeps p at most") {
  test::Draws drawn(13);
  for (int k = 0; k < draws; ++k) {
    const int p = drawn.between(1, 8), m = drawn.between(1, 20);
    PassCosts costs = drawn.costs();
    INFO("p " << p << ", m " << m << ", tF " << costs.forward_s << ", tI " << costs.input_gradient_s
              << ", tW " << costs.weight_gradient_s);
    const Plan plan = make_plan(Schedule::zero_bubble, p, 1, m);

    const PlanTimeline of_one = price(plan);
    check_length(of_one.makespan_s, m >= p ? 3 * m + p - 1 : 2 * m + 2 * p - 1);
    for (const StageTimeline& stage : of_one.stages) CHECK(stage.in_flight_max <= p);

    const PlanTimeline any = price(plan, {{costs}});
    const double one_f_one_b = (m + p - 1) * (costs.forward_s + costs.backward_s);
    CHECK(any.makespan_s <= one_f_one_b * (1 + 1e-12));

    if (m < p) continue;
    const double f = costs.forward_s, i = costs.input_gradient_s;
    const double w = costs.weight_gradient_s = std::min({costs.weight_gradient_s, f, i});
    check_length(price(plan, {{costs}}).makespan_s, m * (f + i + w) + (p - 1) * (f + i - w));
  }
}

TEST_CASE("pipeline: the interleaved schedule on two stages is PyTorch's") {
  const Plan plan = make_plan(Schedule::interleaved, 2, 2, 4);
  CHECK(list_of(plan, 0) ==
        "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 B2.1 B3.1 B2.0 B3.0");
  CHECK(list_of(plan, 1) ==
        "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0");
}

TEST_CASE("pipeline: 1F1B warms up with p-s-1 forward passes, or with all there are") {
  CHECK(list_of(make_plan(Schedule::one_f_one_b, 3, 1, 4), 0) == "F0 F1 F2 B0 F3 B1 B2 B3");
  CHECK(list_of(make_plan(Schedule::one_f_one_b, 3, 1, 4), 2) == "F0 B0 F1 B1 F2 B2 F3 B3");
  CHECK(list_of(make_plan(Schedule::one_f_one_b, 4, 1, 2), 0) == "F0 F1 B0 B1");
}

TEST_CASE("pipeline: published lengths and idle times of the schedules") {
  struct Row {
    Schedule schedule;
    int p, v, m;
    double length, idle;  // in forward passes; idle of one stage
  };
  for (const Row& row : {Row{Schedule::gpipe, 4, 1, 4, 21, 9},
                         {Schedule::one_f_one_b, 4, 1, 8, 33, 9},
                         {Schedule::one_f_one_b, 8, 1, 64, 213, 21},
                         {Schedule::interleaved, 2, 2, 4, 27, 3},
                         {Schedule::interleaved, 4, 2, 8, 57, 9},
                         {Schedule::interleaved, 8, 4, 16, 213, 21},
                         {Schedule::zero_bubble, 4, 1, 4, 15, 3},
                         {Schedule::zero_bubble, 4, 1, 8, 27, 3},
                         {Schedule::zero_bubble, 8, 1, 24, 79, 7},
                         {Schedule::zero_bubble, 4, 1, 3, 13, 4},
                         {Schedule::zero_bubble, 8, 1, 4, 23, 11},
                         {Schedule::zero_bubble, 2, 1, 1, 5, 2}}) {
    INFO("p " << row.p << ", v " << row.v << ", m " << row.m);
    const PlanTimeline timeline = price(make_plan(row.schedule, row.p, row.v, row.m));
    CHECK(timeline.makespan_s == row.length);
    CHECK(timeline.idle_s() == row.idle * row.p);
  }
}

TEST_CASE("pipeline: layers are cut so that the largest stage is as small as possible") {
  using Boundaries = std::vector<int>;
  CHECK(partition(std::vector<double>{1, 2, 3, 4, 5, 6}, 2) == Boundaries{0, 4, 6});
  CHECK(partition(std::vector<double>{0, 1, 2, 3, 3, 3}, 4) == Boundaries{0, 3, 4, 5, 6});
  CHECK(partition(std::vector<double>{0, 1.1, 1.9, 3, 30}, 2) == Boundaries{0, 4, 5});
  CHECK(partition(std::vector<double>{0, 1.1, 30, 3}, 3) == Boundaries{0, 2, 3, 4});
  CHECK(partition(std::vector<double>(8, 1), 4) == Boundaries{0, 2, 4, 6, 8});
  CHECK_THROWS_AS(partition(std::vector<double>{1, 2}, 3), ContractError);
  CHECK_THROWS_AS(partition(std::vector<double>{1, 2}, 0), ContractError);
  CHECK_THROWS_AS(partition(std::vector<double>{1, -2}, 2), ContractError);
}
