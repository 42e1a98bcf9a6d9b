// What a core notes of a run, when it is asked to.
#include "engine/trace/data.hpp"

#include <sstream>

#include "tests/catch.hpp"
#include "tests/sim/scripted.hpp"

using namespace lockstep;
using namespace lockstep::test;
using trace::Lane;

namespace {

struct Recorded {
  trace::Timeline timeline;
  std::optional<Finding> finding;
  double makespan_s = 0;
};

Recorded record(const std::vector<Script>& scripts, std::uint64_t seed = 0) {
  Recorded recorded;
  Options options = world(static_cast<int>(scripts.size()), seed);
  options.timeline = &recorded.timeline;
  Core core(options);
  run(core, scripts);
  recorded.finding = core.finding();
  recorded.makespan_s = core.counters().makespan_s;
  return recorded;
}

Request compute(double seconds, const std::string& name, int line) {
  Request request = request_of(Op::compute, line);
  request.seconds = seconds;
  request.name = name;
  return request;
}

std::string name_of_span(const trace::Timeline& run, std::size_t i) {
  return run.names.at(run.spans.at(i).name);
}

// Rank r sends to its right neighbour and receives from its left one.
std::vector<Script> recorded_ring(int ranks, std::int64_t count) {
  std::vector<Script> scripts;
  for (int rank = 0; rank < ranks; ++rank) {
    scripts.push_back([=](const std::vector<Reply>& replies) -> std::optional<Request> {
      if (replies.empty()) return message(Op::isend, (rank + 1) % ranks, count, 5);
      if (replies.size() == 1) return message(Op::recv, (rank + ranks - 1) % ranks, count, 6);
      if (replies.size() > 2) return std::nullopt;
      const std::vector<float> ones(static_cast<std::size_t>(count), 1.0f);
      return wait_for(replies[0].handle, floats(ones), 7);
    });
  }
  return scripts;
}

}  // namespace

TEST_CASE("recording: a span for what a rank computes, with its name and line") {
  const auto recorded = record({list({compute(2, "forward", 11), compute(3, "", 12)})});
  const trace::Timeline& run = recorded.timeline;
  REQUIRE(run.ranks == 1);
  REQUIRE(run.spans.size() == 2);
  REQUIRE(name_of_span(run, 0) == "forward");
  REQUIRE(run.names.at(run.spans[0].where) == "work/ring.cpp:11");
  REQUIRE(name_of_span(run, 1) == "compute");
  REQUIRE(run.spans[1].start_s == 2);
  REQUIRE(run.spans[1].end_s == 5);
  REQUIRE(run.end_s() == recorded.makespan_s);
}

TEST_CASE("recording: a message with its times, and the wait that it ended") {
  const auto recorded = record({list({compute(1, "late", 1), message(Op::send, 1, 1000, 2, 3)}),
                                list({message(Op::recv, 0, 1000, 4, 3)})});
  const trace::Timeline& run = recorded.timeline;
  const Network network;
  REQUIRE(run.messages.size() == 1);
  const trace::Message& sent = run.messages[0];
  REQUIRE(sent.src == 0);
  REQUIRE(sent.dst == 1);
  REQUIRE(sent.tag == 3);
  REQUIRE(sent.bytes == 4000);
  REQUIRE(sent.depth == 1);
  REQUIRE(sent.start_s == 1);
  REQUIRE(run.names.at(sent.where) == "work/ring.cpp:2");
  REQUIRE(sent.sent_s > sent.start_s);
  REQUIRE(sent.arrived_s > sent.sent_s);
  REQUIRE(sent.arrived_s == recorded.makespan_s);
  const trace::Span wait = ordered(run).spans.back();
  REQUIRE(wait.rank == 1);
  REQUIRE(wait.lane == Lane::waiting);
  REQUIRE(ordered(run).names.at(wait.name) == "recv from rank 0");
  REQUIRE(wait.start_s == 0);
  REQUIRE(wait.end_s == sent.arrived_s);
  REQUIRE(wait.depth == 1);
  REQUIRE(wait.bytes == 4000);
}

TEST_CASE("recording: the messages of a ring are those that the core counts, for any ranks") {
  for (const int ranks : {2, 3, 4, 5, 7, 8}) {
    for (const std::int64_t count : {1, 7, 10}) {
      const trace::Timeline run = record(recorded_ring(ranks, count)).timeline;
      REQUIRE(std::cmp_equal(run.messages.size(), ranks));
      for (const auto& message : run.messages) {
        REQUIRE(message.dst == (message.src + 1) % ranks);
        REQUIRE(message.bytes == 4 * count);
      }
    }
  }
}

TEST_CASE("recording: a native collective is communication from when the last has come") {
  const auto recorded =
      record({list({collective(Collective::all_reduce, {1, 2})}),
              list({compute(1, "", 1), collective(Collective::all_reduce, {3, 4})})});
  const trace::Timeline run = ordered(recorded.timeline);
  int seen = 0;
  for (const trace::Span& span : run.spans) {
    if (span.lane != Lane::communication) continue;
    ++seen;
    REQUIRE(run.names.at(span.name) == "all_reduce");
    REQUIRE(span.start_s == 1);
    REQUIRE(span.end_s == recorded.makespan_s);
    REQUIRE(span.bytes == 8);
  }
  REQUIRE(seen == 2);
  REQUIRE(run.spans.front().lane == Lane::waiting);  // rank 0, from the beginning
  REQUIRE(run.spans.front().start_s == 0);
}

TEST_CASE("recording: a deadlock keeps who waits for whom, since when and where") {
  const auto recorded =
      record({list({compute(2, "", 1), message(Op::recv, 1, 4, 21)}),
              list({message(Op::recv, 2, 4, 22)}), list({message(Op::recv, 0, 4, 23)})});
  REQUIRE(recorded.finding);
  const auto& finding = recorded.timeline.finding;
  REQUIRE(finding);
  REQUIRE(finding->verdict == "deadlock");
  REQUIRE(finding->message == recorded.finding->message);
  REQUIRE(finding->ranks == std::vector{0, 1, 2});
  REQUIRE(finding->waiting.size() == 3);
  const trace::Waiting& first = finding->waiting[0];
  REQUIRE(first.who == "rank 0");
  REQUIRE(first.operation == "recv from rank 1");
  REQUIRE(first.details == "16 bytes");
  REQUIRE(first.where == "work/ring.cpp:21");
  REQUIRE(first.waits_for == std::vector{1});
  REQUIRE(first.since_s == 2);
}

TEST_CASE("recording: in a collective one waits for those that have not come") {
  const auto recorded = record({list({collective(Collective::barrier, {}, 3)}),
                                list({message(Op::recv, 0, 1, 4)}), list({})});
  REQUIRE(recorded.timeline.finding);
  const auto& waiting = recorded.timeline.finding->waiting;
  REQUIRE(waiting.size() == 2);
  REQUIRE(waiting[0].operation == "barrier");
  REQUIRE(waiting[0].waits_for == std::vector{1, 2});
}

TEST_CASE("recording: the same program is the same document under every seed") {
  const auto document = [](std::uint64_t seed) {
    std::ostringstream out;
    write_data(out, ordered(record(recorded_ring(7, 10), seed).timeline));
    return out.str();
  };
  const std::string first = document(0);
  for (std::uint64_t seed = 0; seed < 20; ++seed) REQUIRE(document(seed) == first);
}
