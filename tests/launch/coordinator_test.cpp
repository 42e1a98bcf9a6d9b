// What node 0 decides, and which failure counts as the first: decisions, so no process is started.
#include "engine/launch/coordinator.hpp"

#include <signal.h>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::launch;
using lockstep::test::contains;
using Kind = Command::Kind;

namespace {

// Statuses as wait() gives them.
constexpr int exited_with(int code) { return code << 8; }
constexpr int killed_by(int signal) { return signal; }

Failure failure_of(int rank, int status, double seconds) {
  return {rank, 0, "host", 100 + rank, status, seconds, "", false, false, false, {}};
}

std::vector<int> ranks_of(const std::vector<Failure>& failures) {
  std::vector<int> ranks;
  for (const Failure& failure : failures) ranks.push_back(failure.rank);
  return ranks;
}

}  // namespace

TEST_CASE("first failure: the earliest by the ranks' own clocks") {
  CHECK(
      ranks_of(in_order({failure_of(0, exited_with(1), 10.5), failure_of(1, exited_with(9), 10.25),
                         failure_of(2, exited_with(1), 11)})) == std::vector{1, 0, 2});
}

TEST_CASE("first failure: a rank that was killed comes before those that noticed it") {
  CHECK(ranks_of(in_order({failure_of(0, exited_with(1), 10), failure_of(1, killed_by(SIGKILL), 11),
                           failure_of(2, killed_by(SIGSEGV), 10.5)})) == std::vector{2, 1, 0});
  // An exception that nobody caught is an end of the rank's own.
  CHECK(ranks_of(in_order({failure_of(0, killed_by(SIGABRT), 11),
                           failure_of(1, exited_with(1), 10)})) == std::vector{1, 0});
  // So is a failure whose rank had said why before its launcher stopped it.
  Failure stopped = failure_of(0, killed_by(SIGTERM), 11);
  stopped.stopped = true;
  const std::vector<Failure> both = in_order({stopped, failure_of(1, exited_with(2), 10)});
  CHECK(ranks_of(both) == std::vector{1, 0});
  CHECK_THAT(report_of(both, 2, 1, 0), contains("rank 0 (failed, and was stopped)"));
}

TEST_CASE("first failure: a rank that blames its peers comes after those that do not") {
  Failure blames = failure_of(0, exited_with(1), 10);
  blames.blames_peers = true;
  const Failure broken_pipe = failure_of(1, killed_by(SIGPIPE), 10.5);
  CHECK(ranks_of(in_order({blames, broken_pipe, failure_of(2, exited_with(3), 12),
                           failure_of(3, killed_by(SIGABRT), 11)})) == std::vector{3, 2, 0, 1});
}

TEST_CASE("first failure: the report has its message and last lines, and names the others") {
  Failure first = failure_of(1, exited_with(7), 1);
  first.message = "the loss is not a number";
  first.last = {"step 3", "step 4"};
  const std::vector<Failure> all{first, failure_of(0, exited_with(1), 2),
                                 failure_of(3, killed_by(SIGABRT), 3)};
  CHECK(report_of(all, 4, 1, 1) ==
        "rank 1 of 4 (pid 101) exited with code 7; the one rank still running was stopped\n"
        "what it said: the loss is not a number\n"
        "last lines of rank 1:\n  step 3\n  step 4\n"
        "failed after it, or because of it: rank 0 (exited with code 1), rank 3 (was killed by "
        "signal 6 (SIGABRT))");
  first.last.push_back("lab train: the loss is not a number");  // said already
  CHECK_THAT(report_of(std::vector{first}, 4, 2, 0),
             !contains("what it said") && contains("(pid 101 on node 0, host) exited"));
}

TEST_CASE("coordinator: a run ends well when the ranks of every node have") {
  Coordinator run({2, 3}, 1);
  CHECK(run.begin().kind == Kind::begin);
  CHECK_FALSE(run.ended(1, {}, 0));
  const auto end = run.ended(0, {}, 0);
  REQUIRE(end);
  CHECK(end->kind == Kind::end);
  CHECK(end->code == 0);
  CHECK(end->report.empty());
}

TEST_CASE("coordinator: a failure stops all once, and the next attempt waits for every node") {
  Coordinator run({2, 3}, 2);
  const auto stop = run.failed(1);
  REQUIRE(stop);
  CHECK(stop->kind == Kind::stop);
  CHECK_FALSE(run.failed(0));
  CHECK_FALSE(run.ended(1, {failure_of(3, exited_with(1), 5)}, 2));
  const auto again = run.ended(0, {failure_of(0, exited_with(2), 4)}, 1);
  REQUIRE(again);
  CHECK(again->kind == Kind::begin);
  CHECK(again->attempt == 1);
  CHECK_THAT(again->report, contains("attempt 0 of 2: rank 0 of 5") &&
                                contains("the 3 ranks still running were stopped") &&
                                contains("rank 3 (exited with code 1)") &&
                                contains("starting all 5 ranks again; 1 restart left"));
  // Nothing of the first attempt counts in the second.
  CHECK_FALSE(run.ended(0, {}, 0));
  const auto end = run.ended(1, {}, 0);
  REQUIRE(end);
  CHECK(end->kind == Kind::end);
  CHECK(end->code == 0);
}

TEST_CASE("coordinator: K restarts are K + 1 attempts, and the last one's failure ends the run") {
  for (const int restarts : {0, 1, 3}) {
    Coordinator run({1}, restarts);
    for (int attempt = 0; attempt <= restarts; ++attempt) {
      CHECK(run.failed(0)->kind == Kind::stop);
      const auto next = run.ended(0, {failure_of(0, exited_with(7), 1)}, 0);
      REQUIRE(next);
      if (attempt < restarts) {
        CHECK(next->kind == Kind::begin);
        CHECK(next->attempt == attempt + 1);
      } else {
        CHECK(next->kind == Kind::end);
        CHECK(next->code == 1);
        CHECK_THAT(next->report, contains("exited with code 7"));
      }
    }
  }
}

TEST_CASE("coordinator: what every failed rank refuses is not tried again") {
  Failure blames = failure_of(2, exited_with(1), 3), stopped = failure_of(3, killed_by(SIGTERM), 4);
  blames.blames_peers = stopped.stopped = true;
  const Failure refuses = failure_of(0, exited_with(2), 1);
  const auto decided = [](std::vector<Failure> failures, int restarts) {
    Coordinator run({4}, restarts);
    CHECK(run.failed(0)->kind == Kind::stop);
    return *run.ended(0, std::move(failures), 0);
  };
  for (const auto& failures : std::vector<std::vector<Failure>>{
           {refuses}, {refuses, failure_of(1, exited_with(2), 2)}, {refuses, blames, stopped}}) {
    const Command end = decided(failures, 3);
    CHECK(end.kind == Kind::end);
    CHECK(end.code == 1);
    CHECK_THAT(end.report, contains("rank 0 of 4") && contains("exited with code 2") &&
                               contains("nothing is started again: exit code 2"));
  }
  CHECK_THAT(decided({refuses}, 0).report, !contains("started again"));
  for (const auto& failures :
       std::vector<std::vector<Failure>>{{refuses, failure_of(1, exited_with(1), 2)},
                                         {refuses, failure_of(1, killed_by(SIGKILL), 2)},
                                         {blames}}) {
    CHECK(decided(failures, 3).kind == Kind::begin);
  }
}

TEST_CASE("coordinator: a lost launcher or an interrupt ends the run, restarts or not") {
  Coordinator run({1, 1, 1}, 5);
  CHECK(run.departed(2, "node 2 is gone")->kind == Kind::stop);
  CHECK_FALSE(run.ended(0, {failure_of(0, exited_with(1), 1)}, 0));
  const auto end = run.ended(1, {}, 1);
  REQUIRE(end);
  CHECK(end->kind == Kind::end);
  CHECK(end->code == 1);
  CHECK(end->report == "node 2 is gone");

  Coordinator other({1, 1}, 5);
  CHECK(other.interrupted(1, "SIGINT")->kind == Kind::stop);
  CHECK_FALSE(other.ended(0, {}, 1));
  CHECK_THAT(other.ended(1, {}, 1)->report, contains("interrupted by SIGINT on node 1"));
}

TEST_CASE("coordinator: a launcher that is lost last ends a run that waited for it alone") {
  Coordinator run({1, 1}, 0);
  CHECK_FALSE(run.ended(0, {}, 0));
  const auto end = run.departed(1, "node 1 is gone");
  REQUIRE(end);
  CHECK(end->kind == Kind::end);
  CHECK(end->code == 1);
}

TEST_CASE("coordinator: for ranks that the others could do without, nothing begins again") {
  Failure spare = failure_of(1, killed_by(SIGKILL), 1);
  spare.spare = true;
  Coordinator alone({2}, 3);
  const auto end = alone.ended(0, {spare}, 0);
  REQUIRE(end);
  CHECK((end->kind == Kind::end && end->code == 1));
  CHECK_THAT(end->report, contains("rank 1 of 2"));
  Coordinator both({2}, 3);
  const auto again = both.ended(0, {spare, failure_of(0, exited_with(1), 2)}, 0);
  REQUIRE(again);
  CHECK(again->kind == Kind::begin);
}
