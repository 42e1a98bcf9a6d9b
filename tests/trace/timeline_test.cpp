#include "engine/trace/timeline.hpp"

#include "engine/base/error.hpp"
#include "engine/trace/summary.hpp"
#include "tests/catch.hpp"
#include "tests/trace/example.hpp"

using namespace lockstep;
using namespace lockstep::test;
using trace::Lane;

namespace {

trace::Span span(Lane lane, double start_s, double end_s, int rank = 0) {
  trace::Span one;
  one.rank = rank;
  one.lane = lane;
  one.start_s = start_s;
  one.end_s = end_s;
  return one;
}

}  // namespace

TEST_CASE("timeline: a name is written once however often it is used") {
  trace::Timeline run;
  const trace::Name forward = run.named("forward");
  REQUIRE(run.named("backward") != forward);
  REQUIRE(run.named("forward") == forward);
  REQUIRE(run.named("") == 0);
  REQUIRE(run.names.size() == 3);
}

TEST_CASE("timeline: the order in which things were noted leaves no trace") {
  trace::Timeline one, other;
  one.ranks = other.ranks = 2;
  const auto note = [](trace::Timeline& run, const char* name, int rank, double start_s) {
    trace::Span added = span(Lane::compute, start_s, start_s + 1, rank);
    added.name = run.named(name);
    run.add(added);
  };
  note(one, "a", 0, 0);
  note(one, "b", 1, 0);
  note(one, "a", 1, 1);
  note(other, "a", 1, 1);
  note(other, "b", 1, 0);
  note(other, "a", 0, 0);
  REQUIRE(ordered(one).spans == ordered(other).spans);
  REQUIRE(ordered(one).names == ordered(other).names);
}

TEST_CASE("timeline: ordering keeps every name with its span") {
  const trace::Timeline run = ordered(small_run());
  REQUIRE(run.names[run.spans.at(0).name] == "forward");
  REQUIRE(run.names[run.spans.at(1).name] == "recv from rank 0");
  REQUIRE(run.names[run.spans.at(1).where] == hostile_name);
  REQUIRE(run.names[run.messages.at(0).label] == "isend");
  REQUIRE(run.names[run.messages.at(0).where].empty());
}

TEST_CASE("timeline: what lasts no time is not kept, and what is too much is counted") {
  trace::Timeline run;
  run.events_max = 2;
  run.add(span(Lane::compute, 1, 1));
  REQUIRE(run.spans.empty());
  for (int i = 0; i < 5; ++i) run.add(span(Lane::compute, i, i + 1));
  REQUIRE(run.spans.size() == 2);
  REQUIRE(run.left_out == 3);
}

TEST_CASE("timeline: it ends with its last message, span or sample") {
  trace::Timeline run = small_run();
  REQUIRE(run.end_s() == 4);
  run.sample("memory", "bytes", 1, 9, 0);
  REQUIRE(run.end_s() == 9);
}

TEST_CASE("timeline: those of several ranks become one") {
  trace::Timeline first = small_run(), second;
  second.ranks = 3;
  trace::Span late = span(Lane::compute, 5, 6, 2);
  late.name = second.named("backward");
  second.add(late);
  const trace::Timeline both = trace::merged({first, second});
  REQUIRE(both.ranks == 3);
  REQUIRE(both.title == first.title);
  REQUIRE(both.spans.size() == 3);
  REQUIRE(both.names[both.spans.back().name] == "backward");
  REQUIRE(both.finding == first.finding);
}

TEST_CASE("summary: two things at once count once, and overlap is what computing hides") {
  trace::Timeline run;
  run.ranks = 1;
  run.add(span(Lane::compute, 0, 4));
  run.add(span(Lane::compute, 3, 5));
  run.add(span(Lane::communication, 2, 6));
  run.add(span(Lane::communication, 4, 10));
  run.add(span(Lane::waiting, 5, 10));
  const auto ranks = summary_of(run);
  REQUIRE(ranks.at(0).compute_s == 5);
  REQUIRE(ranks.at(0).communication_s == 8);
  REQUIRE(ranks.at(0).exposed_s == 5);
  REQUIRE(ranks.at(0).waiting_s == 5);
  REQUIRE(overlap_of(ranks) == 1 - 5.0 / 8);
}

TEST_CASE("summary: a message is communication of both its ends") {
  const auto ranks = summary_of(small_run());
  REQUIRE(ranks.at(0).communication_s == 2.5);
  REQUIRE(ranks.at(0).exposed_s == 0.5);
  REQUIRE(ranks.at(0).bytes_sent == 8);
  REQUIRE(ranks.at(1).communication_s == 3);
  REQUIRE(ranks.at(1).bytes_received == 8);
  REQUIRE(ranks.at(1).messages_received == 1);
  REQUIRE(ranks.at(1).waiting_s == 4);
}

TEST_CASE("summary: something of a rank that the run does not have is refused") {
  trace::Timeline run;
  run.ranks = 2;
  run.add(span(Lane::compute, 0, 1, 2));
  CHECK_THROWS_AS(summary_of(run), ContractError);
  run = small_run();
  run.ranks = 1;
  CHECK_THROWS_AS(summary_of(run), ContractError);
}

TEST_CASE("summary: nothing communicated is no overlap") {
  trace::Timeline run;
  run.ranks = 2;
  REQUIRE(overlap_of(summary_of(run)) == 0);
}
