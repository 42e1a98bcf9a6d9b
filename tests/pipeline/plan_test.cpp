// What is refused of a plan, and in which words.
#include "engine/parallel/pipeline/plan.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::pipeline;

namespace {

constexpr Action forward(int j, int c = 0) { return {Pass::forward, j, c}; }
constexpr Action backward(int j, int c = 0) { return {Pass::backward, j, c}; }
constexpr Action input(int j) { return {Pass::input_gradient, j}; }
constexpr Action weight(int j) { return {Pass::weight_gradient, j}; }

std::string sentence_of(const Plan& plan) {
  const auto fault = fault_of(plan);
  return fault ? fault->sentence : "";
}

}  // namespace

TEST_CASE("pipeline: a plan that no schedule can make is refused in a sentence") {
  const auto refused = [](Schedule schedule, int p, int v, int m, const std::string& says) {
    CHECK_THROWS_AS(make_plan(schedule, p, v, m), ContractError);
    CHECK_THROWS_WITH(make_plan(schedule, p, v, m), test::contains(says));
  };
  refused(Schedule::gpipe, 0, 1, 4, "0 stages; use at least one");
  refused(Schedule::gpipe, 2, 1, 0, "0 micro-batches; use at least one");
  refused(Schedule::interleaved, 2, 0, 4, "0 chunks a stage; use at least one");
  refused(Schedule::one_f_one_b, 2, 2, 4, "only the interleaved schedule has more than one");
  refused(Schedule::zero_bubble, 2, 3, 4, "only the interleaved schedule has more than one");
  refused(Schedule::interleaved, 4, 2, 6, "needs a multiple of the stages");
}

TEST_CASE("pipeline: what schedules make is valid, for 1 to 8 stages and any number of batches") {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 17; ++m) {
      INFO("p " << p << ", m " << m);
      for (const auto schedule : {Schedule::gpipe, Schedule::one_f_one_b, Schedule::zero_bubble}) {
        CHECK(sentence_of(make_plan(schedule, p, 1, m)) == "");
      }
      CHECK(sentence_of(make_plan(Schedule::interleaved, p, 1 + m % 4, m * p)) == "");
    }
  }
}

TEST_CASE("pipeline: a plan with a missing or doubled pass names stage and pass") {
  const Plan right = make_plan(Schedule::one_f_one_b, 3, 1, 4);
  Plan plan = right;
  std::erase(plan.actions[1], backward(3));
  CHECK(sentence_of(plan) == "stage 1 has no B3");
  plan = right;
  std::erase(plan.actions[2], forward(0));
  CHECK(sentence_of(plan) == "stage 2 has no F0");
  plan = right;
  plan.actions[0].push_back(forward(2));
  CHECK(sentence_of(plan) == "stage 0, action 8, F2: it is action 2 already");
  plan = right;
  plan.actions[0][3] = forward(7);
  CHECK(sentence_of(plan) ==
        "stage 0, action 3: there is no pass of micro-batch 7 over chunk 0; there are 4 "
        "micro-batches and 1 chunk a stage");
  plan.actions.pop_back();
  CHECK(fault_of(plan)->kind == FaultKind::sizes);
  CHECK_THROWS_WITH(check(plan), test::contains("the plan cannot be carried out"));
}

TEST_CASE("pipeline: a backward pass is whole or in two, and not both") {
  Plan plan{1, 1, 1, {{forward(0), input(0), weight(0)}}};
  CHECK(sentence_of(plan) == "");
  plan.actions[0] = {forward(0), input(0)};
  CHECK(sentence_of(plan) == "stage 0 has no W0");
  plan.actions[0] = {forward(0), weight(0)};
  CHECK(sentence_of(plan) == "stage 0 has no I0");
  plan.actions[0] = {forward(0), input(0), weight(0), backward(0)};
  CHECK(sentence_of(plan) ==
        "stage 0, action 3, B0: a whole backward pass is I and W already; use the one or the two");
  plan.actions[0] = {forward(0), backward(0), input(0), weight(0)};
  CHECK(fault_of(plan)->place == 2U);
  CHECK(fault_of(plan)->kind == FaultKind::doubled);
}

TEST_CASE("pipeline: an action before what it needs on its own stage is told") {
  Plan plan{2, 1, 1, {{forward(0), backward(0)}, {backward(0), forward(0)}}};
  CHECK(sentence_of(plan) == "stage 1, action 0, B0: it needs what F0 keeps, which comes later");
  plan = {1, 1, 1, {{forward(0), weight(0), input(0)}}};
  CHECK(sentence_of(plan) ==
        "stage 0, action 1, W0: it needs the gradients of I0, which comes later");
}

TEST_CASE("pipeline: stages that wait for each other are told in a circle") {
  Plan plan{2,
            1,
            2,
            {{forward(0), backward(0), forward(1), backward(1)},
             {forward(0), forward(1), backward(0), backward(1)}}};
  CHECK(fault_of(plan)->kind == FaultKind::circle);
  CHECK(sentence_of(plan) ==
        "no stage can go on: stage 0 waits at B0 for the gradient of F0 of stage 1; stage 1 waits "
        "at F1 for F1 of stage 0");
  // A stage's own chunks: the second before the first.
  plan = {1, 2, 1, {{forward(0, 1), forward(0, 0), backward(0, 1), backward(0, 0)}}};
  CHECK(sentence_of(plan) == "no stage can go on: stage 0 waits at F0.1 for F0.0 of stage 0");
  // A stage that only waits for those of the circle is not in it.
  plan = {3,
          1,
          2,
          {{forward(0), backward(0), forward(1), backward(1)},
           {forward(0), forward(1), backward(0), backward(1)},
           {forward(0), forward(1), backward(0), backward(1)}}};
  CHECK(fault_of(plan)->kind == FaultKind::circle);
  CHECK_THAT(sentence_of(plan), !test::contains("stage 2 waits"));
}
