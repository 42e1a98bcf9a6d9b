// A right plan as a timeline that can be drawn.
#include "grader/exam/schedule/picture.hpp"

#include <algorithm>

#include "engine/parallel/pipeline/plan.hpp"
#include "grader/exam/schedule/idle.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;
using pipeline::Pass;

TEST_CASE("picture of a plan: stages are ranks, passes are computed, and idle time is waited for") {
  const pipeline::Plan plan{
      2, 1, 1, {{{Pass::forward}, {Pass::backward}}, {{Pass::forward}, {Pass::backward}}}};
  trace::Timeline run;
  draw_plan(pipeline::price(plan), run);
  CHECK(run.ranks == 2);
  CHECK(run.end_s() == 6);
  const auto spans = [&](int rank, trace::Lane lane) {
    std::vector<std::string> names;
    for (const trace::Span& span : run.spans) {
      if (span.rank == rank && span.lane == lane) names.push_back(run.names[span.name]);
    }
    return names;
  };
  const std::vector<std::string> passes{"forward 0", "backward 0"};
  CHECK(spans(0, trace::Lane::compute) == passes);
  CHECK(spans(1, trace::Lane::compute) == passes);
  CHECK(spans(0, trace::Lane::waiting) == std::vector<std::string>{"idle"});
  CHECK(spans(1, trace::Lane::waiting) == std::vector<std::string>{"idle"});
  REQUIRE(run.series.size() == 2);
  CHECK(run.series[0].name == "activations");
  CHECK(run.series[0].samples.size() == 2);
}

TEST_CASE("a plan whose stages run two passes in different orders is told so") {
  const pipeline::Action f0{Pass::forward, 0}, f1{Pass::forward, 1}, b0{Pass::backward, 0},
      b1{Pass::backward, 1};
  pipeline::Plan plan{2, 1, 2, {{f0, f1, b0, b1}, {f0, b0, f1, b1}}};
  CHECK_FALSE(other_order(plan));
  plan.actions[0] = {f0, f1, b1, b0};
  CHECK_THAT(other_order(plan).value(), test::contains("stage 0 runs B1 before B0, and stage 1"));
}
