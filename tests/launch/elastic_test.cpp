// Launchers of one machine that come and go: rounds, as people see them.
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "engine/base/text.hpp"
#include "engine/launch/channel.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/launch/run.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::Run;
using lockstep::test::Scratch;

namespace {

using Words = std::vector<std::string>;

const std::string says_round =
    "echo up $RANK of $WORLD_SIZE, node $GROUP_RANK, round $LOCKSTEP_ROUND, "
    "$TORCHELASTIC_RESTART_COUNT restarts; ";
const std::string says_and_waits = says_round + "exec sleep 600";

struct Launchers {
  std::string nodes = "1:3";
  Words options{"--max-restarts", "2", "--last-call", "0.2"};
  std::string script = says_and_waits;
  std::string endpoint = "127.0.0.1:0";

  Run start(const Words& more = {}) const {
    Words all{"--nnodes", nodes, "--rdzv-endpoint", endpoint};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), more.begin(), more.end());
    for (const std::string& word : {std::string("--"), std::string("/bin/sh"), std::string("-c")}) {
      all.push_back(word);
    }
    all.push_back(script);
    return Run(all);
  }
  // The others are told where the one is that serves.
  void meet_at(Run& first) { endpoint = text("127.0.0.1:", first.number_after("at 127.0.0.1:")); }
};

int stop(Run& run) {
  kill(run.pid(), SIGTERM);
  return run.finish();
}

}  // namespace

TEST_CASE("elastic: a launcher that comes begins a round without a restart, one that goes with") {
  Launchers launchers;
  const Scratch scratch;
  Run zero = launchers.start({"--log-dir", scratch.path().string(), "--rdzv-id", "night"});
  launchers.meet_at(zero);
  REQUIRE(zero.read_until("up 0 of 1, node 0, round 0, 0 restarts"));
  Run one = launchers.start({"--ranks", "2"});
  REQUIRE(zero.read_until("up 0 of 3, node 0, round 1, 0 restarts"));
  REQUIRE(one.read_until("[rank 2] up 2 of 3, node 1, round 1, 0 restarts"));
  kill(one.pid(), SIGKILL);
  REQUIRE(zero.read_until("up 0 of 1, node 0, round 2, 1 restarts"));
  CHECK_THAT(zero.seen(), contains("round 0: ") && contains(" has come, with 2 ranks") &&
                              contains("round 1: the launcher of node 1 (") &&
                              contains(") is gone, and its ranks with it") &&
                              contains("round 2 begins on 1 node, with 1 rank; 1 restart left"));
  CHECK(one.finish() == -SIGKILL);
  CHECK(stop(zero) == 1);
  CHECK_THAT(zero.seen(), contains("interrupted by SIGTERM"));
  const auto logs = std::filesystem::directory_iterator(scratch.path())->path();
  for (const char* round : {"attempt_0", "attempt_1", "attempt_2"}) {
    CHECK(std::filesystem::exists(logs / round / "0" / "stdout.log"));
  }
}

TEST_CASE("elastic: ranks have time to save when others come, and those that cannot are cut off") {
  for (const bool can : {true, false}) {
    Launchers launchers;
    launchers.script =
        says_round + (can ? "trap 'sleep 1; echo saved $LOCKSTEP_ROUND; exit 1' TERM; "
                            "while :; do sleep 0.02; done"
                          : "[ $RANK = 0 ] || exec sleep 600; trap '' TERM; "
                            "while :; do sleep 0.02; done");
    Run zero = launchers.start({"--ranks", "2", "--grace", "0.1"});
    launchers.meet_at(zero);
    REQUIRE(zero.read_until("[rank 1] up 1 of 2"));
    REQUIRE(zero.read_until("[rank 0] up 0 of 2"));
    Run one = launchers.start();
    REQUIRE(zero.read_until("up 0 of 3, node 0, round 1, 0 restarts"));
    if (can) {
      CHECK_THAT(zero.seen(), contains("[rank 0] saved 0") && contains("[rank 1] saved 0"));
    }
    REQUIRE(one.read_until("up 2 of 3"));
    kill(zero.pid(), SIGKILL);
    CHECK(zero.finish() == -SIGKILL);
    CHECK(one.finish() == 1);
    CHECK_THAT(one.seen(), contains("the launcher of node 0 at 127.0.0.1:") &&
                               contains("It hosts the store, so no round follows"));
  }
}

TEST_CASE("elastic: a launcher beyond MAX waits, is named, and takes a free place") {
  Launchers launchers{"2:2"};
  Run zero = launchers.start();
  launchers.meet_at(zero);
  Run one = launchers.start({"--node-rank", "1"});
  REQUIRE(one.read_until("up 1 of 2, node 1, round 0"));
  Run two = launchers.start({"--node-rank", "1"});
  REQUIRE(two.read_until("waits: all 2 places of --nnodes 2:2 are taken"));
  REQUIRE(zero.read_until("waits: all 2 places of --nnodes 2:2 are taken"));
  CHECK(stop(one) == 1);
  CHECK_THAT(one.seen(), contains("this node has left the run, and others go on"));
  REQUIRE(two.read_until("up 1 of 2, node 1, round 1, 1 restarts"));
  CHECK(zero.read_until("was interrupted by SIGTERM and leaves"));
  Run three = launchers.start();
  REQUIRE(three.read_until("waits: all 2 places"));
  CHECK(stop(zero) == 1);
  CHECK(two.finish() == 1);
  CHECK(three.finish() == 1);
  CHECK_THAT(three.seen(), contains("interrupted by SIGTERM on node 0") && !contains("up "));
}

TEST_CASE("elastic: below MIN the run waits for a while, and stops") {
  Launchers launchers{"2:3", {"--max-restarts", "2", "--last-call", "0", "--rdzv-timeout", "0.5"}};
  Run zero = launchers.start();
  launchers.meet_at(zero);
  CHECK(zero.finish() == 1);
  CHECK_THAT(zero.seen(), contains("1 of 2 nodes did not come within 0.5 s") && !contains("up "));
  launchers.endpoint = "127.0.0.1:0";
  launchers.options.back() = "5";
  Run again = launchers.start();
  launchers.meet_at(again);
  Run one = launchers.start();
  REQUIRE(one.read_until("up 1 of 2"));
  launchers.options.back() = "0.5";
  kill(one.pid(), SIGKILL);
  REQUIRE(again.read_until("waits for 1 of 2 nodes, for 5 s"));
  Run two = launchers.start();
  REQUIRE(again.read_until("up 0 of 2, node 0, round 1, 1 restarts"));
  CHECK(stop(again) == 1);
  CHECK(two.finish() == 1);
}

TEST_CASE("elastic: a failed rank uses a restart, and the last one ends the run on all nodes") {
  Launchers launchers{"1:2", {"--max-restarts", "1", "--last-call", "30"}};
  launchers.script = says_round + "[ $RANK = 0 ] || exit 7; exec sleep 600";
  Run zero = launchers.start();
  launchers.meet_at(zero);
  Run one = launchers.start();
  CHECK(zero.finish() == 1);
  CHECK(one.finish() == 1);
  for (const Run* run : {&zero, &one}) {
    CHECK_THAT(run->seen(),
               contains("round 0: rank 1 of 2 (pid ") &&
                   contains("round 1 begins on 2 nodes, with 2 ranks; 0 restarts left") &&
                   contains("round 1: rank 1 of 2 (pid ") &&
                   contains("no restart is left, so the run ends"));
  }
}

TEST_CASE("elastic: a run that ends well ends so on all nodes, and for those that wait") {
  Launchers launchers{"1:2", {"--last-call", "30"}};
  const Scratch scratch;
  launchers.script =
      says_round + "until [ -e " + (scratch.path() / "over").string() + " ]; do sleep 0.02; done";
  Run zero = launchers.start();
  launchers.meet_at(zero);
  Run one = launchers.start();
  REQUIRE(one.read_until("up 1 of 2"));
  Run two = launchers.start();
  REQUIRE(two.read_until("waits: all 2 places"));
  std::ofstream(scratch.path() / "over").flush();
  CHECK(zero.finish() == 0);
  CHECK(one.finish() == 0);
  CHECK(two.finish() == 0);
}

TEST_CASE("elastic: launchers that start something else, or say other numbers, are refused") {
  Launchers launchers;
  Run zero = launchers.start();
  launchers.meet_at(zero);
  REQUIRE(zero.read_until("up 0 of 1"));
  const auto refused = [&](const Launchers& other) {
    Run run = other.start();
    CHECK(run.finish() == 2);
    return run.seen();
  };
  Launchers other = launchers;
  other.nodes = "1:2";
  CHECK_THAT(refused(other), contains("--nnodes is 1:2 on ") && contains("says 1:3"));
  other.nodes = "3";
  other.options = {};
  CHECK_THAT(refused(other), contains("--nnodes is 3 on ") && contains("says 1:3"));
  other = launchers;
  other.script = "true";
  CHECK_THAT(refused(other), contains(" starts sh -c true, but node 0 (") &&
                                 contains("type the same on every node"));
  // One of another version of the lab, and one that says nothing.
  const int port = std::stoi(launchers.endpoint.substr(launchers.endpoint.rfind(':') + 1));
  const auto soon = comm::deadline_after(60);
  const launch::Channel silent(comm::connect_to("127.0.0.1", port, soon));
  launch::Channel old(comm::connect_to("127.0.0.1", port, soon));
  old.send({{"hello", {{"lockstep", 1}, {"nodes", 3}}}});
  REQUIRE(zero.read_until("the launchers have different versions"));
  CHECK(stop(zero) == 1);
  CHECK_THAT(zero.seen(), contains("refused the launcher at") && !contains("round 1"));
}

TEST_CASE("elastic: what cannot be is one sentence") {
  const auto complaint = [](const Words& words) {
    Words all = words;
    all.insert(all.end(), {"--rdzv-endpoint", "127.0.0.1:0", "--", "true"});
    Run run(all);
    CHECK(run.finish() == 2);
    return run.seen();
  };
  for (const char* typed : {"2:", ":2", "0:2", "1:0", "1:2:3", "a:b", "1:99999", "-1:2", "1: 2"}) {
    CHECK_THAT(complaint({text("--nnodes=", typed)}),
               contains(text("--nnodes ", typed, " is not MIN:MAX")));
  }
  CHECK_THAT(complaint({"--nnodes", "3:2"}), contains("MIN is more than MAX; did you mean 2:3?"));
  CHECK_THAT(complaint({"--nnodes", "2", "--last-call", "1"}),
             contains("--last-call belongs to --nnodes MIN:MAX"));
  Run nowhere({"--nnodes", "1:2", "--", "true"});
  CHECK(nowhere.finish() == 2);
  CHECK_THAT(nowhere.seen(), contains("--nnodes 1:2 needs --rdzv-endpoint HOST:PORT"));
  Run mpirun =
      Run::of({LOCKSTEP_RUN, "--nnodes", "1:2", "--rdzv-endpoint", "127.0.0.1:0", "--", "true"},
              {"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK=0",
               "OMPI_COMM_WORLD_LOCAL_SIZE=2", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29500"});
  CHECK(mpirun.finish() == 2);
  CHECK_THAT(mpirun.seen(), contains("mpirun or srun has started several launchers here"));
  Run one({"--nnodes", "1:1", "--", "true"});
  CHECK(one.finish() == 0);
  // A run of fixed membership inside a rank of one that has rounds is not in a round.
  Run inner = Run::of({LOCKSTEP_RUN, "--", "/bin/sh", "-c", "echo round ${LOCKSTEP_ROUND-none}"},
                      {"LOCKSTEP_ROUND=5"});
  CHECK(inner.finish() == 0);
  CHECK_THAT(inner.seen(), contains("round none"));
}
