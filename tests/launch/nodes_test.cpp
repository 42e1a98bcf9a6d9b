// Several launchers on one machine, each a node: they meet, agree, fail and start again together.
#include <signal.h>

#include <chrono>

#include "engine/base/error.hpp"
#include "engine/comm/stores/tcp_store.hpp"
#include "engine/launch/launcher.hpp"
#include "tests/catch.hpp"
#include "tests/comm/silent_port.hpp"
#include "tests/fewest_seconds.hpp"
#include "tests/launch/run.hpp"

using namespace lockstep;
using namespace lockstep::launch;
using lockstep::test::contains;
using lockstep::test::dies;
using lockstep::test::Run;
using Words = std::vector<std::string>;

namespace {

Words joined(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Words script(const std::string& text) { return {"--", "/bin/sh", "-c", text}; }

// Node 0's launcher takes a free port and says which; the others are started with it.
Run node_zero(int nodes, const Words& rest) {
  return Run(joined({"--nnodes", text(nodes), "--rdzv-endpoint", "127.0.0.1:0"}, rest));
}
std::string endpoint_of(Run& zero) {
  return text("127.0.0.1:", zero.number_after("at 127.0.0.1:"));
}
Run node(const std::string& endpoint, int nodes, const Words& rest) {
  return Run(joined({"--nnodes", text(nodes), "--rdzv-endpoint", endpoint}, rest));
}

const std::string place =
    "echo $RANK $LOCAL_RANK $GROUP_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE "
    "$GROUP_WORLD_SIZE $TORCHELASTIC_RESTART_COUNT . $LOCKSTEP_STORE "
    "$MASTER_ADDR:$MASTER_PORT";

// What stands after the dot: the store and the master, which must be alike everywhere.
std::string addresses_in(const std::string& seen) {
  const auto start = seen.find(" . ");
  REQUIRE(start != std::string::npos);
  return seen.substr(start, seen.find('\n', start) - start);
}

// Kills a rank of node 1; the seconds until node 0's launcher has ended. Both tell the cause.
double seconds_after_a_kill_on_one() {
  const Words program = script("echo pid $$; exec sleep 600");
  Run zero = node_zero(2, joined({"--ranks", "2"}, program));
  Run one = node(endpoint_of(zero), 2, joined({"--ranks", "2"}, program));
  REQUIRE(zero.read_until("[rank 0] pid"));
  REQUIRE(zero.read_until("[rank 1] pid"));
  REQUIRE(one.read_until("[rank 2] pid"));
  const int pid = one.number_after("[rank 3] pid ");
  const auto killed_at = std::chrono::steady_clock::now();
  kill(pid, SIGKILL);
  CHECK(zero.finish() == 1);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - killed_at;
  CHECK(one.finish() == 1);
  for (const Run* run : {&zero, &one}) {
    CHECK_THAT(run->seen(), contains(text("rank 3 of 4 (pid ", pid, " on node 1, ")) &&
                                contains("was killed by signal 9") &&
                                contains("the 3 ranks still running were stopped") &&
                                contains(text("last lines of rank 3:\n  pid ", pid)));
  }
  return took.count();
}

}  // namespace

TEST_CASE("nodes: launchers with unequal numbers of ranks number them node by node") {
  Run zero = node_zero(3, joined({"--ranks", "2"}, script(place)));
  const std::string at = endpoint_of(zero);
  Run two = node(at, 3, joined({"--ranks", "1", "--node-rank", "2"}, script(place)));
  Run one = node(at, 3, joined({"--ranks", "3", "--node-rank", "1"}, script(place)));
  CHECK(zero.finish() == 0);
  CHECK(one.finish() == 0);
  CHECK(two.finish() == 0);
  CHECK_THAT(zero.seen(), contains("[rank 0] 0 0 0 6 2 3 0 .") && contains("[rank 1] 1 1 0 6 2 3"));
  CHECK_THAT(one.seen(), contains("[rank 2] 2 0 1 6 3 3 0 .") && contains("[rank 4] 4 2 1 6 3 3"));
  CHECK_THAT(two.seen(), contains("[rank 5] 5 0 2 6 1 3 0 ."));
  CHECK(addresses_in(zero.seen()) == addresses_in(one.seen()));
  CHECK(addresses_in(zero.seen()) == addresses_in(two.seen()));
}

TEST_CASE("nodes: without a number they count in the order of arrival, and the first serves") {
  Run zero = node_zero(2, script(place));
  Run one = node(endpoint_of(zero), 2, script(place));
  CHECK(zero.finish() == 0);
  CHECK(one.finish() == 0);
  CHECK_THAT(zero.seen(), contains("[rank 0] 0 0 0 2 1 2"));
  CHECK_THAT(one.seen(), contains("[rank 1] 1 0 1 2 1 2"));
}

TEST_CASE("nodes: a failure on one stops all within a second, and each tells the cause") {
  const double took = lockstep::test::fewest_seconds(3, seconds_after_a_kill_on_one);
  WARN("node 0 had ended " << took << " s after a rank of node 1 was killed");
  CHECK(took < 3);
}

TEST_CASE("nodes: a restart is of all ranks on all nodes, with a store of its own") {
  const std::string fail_once =
      "; if [ $RANK = 2 ] && [ $TORCHELASTIC_RESTART_COUNT = 0 ]; then exit 4; fi; "
      "if [ $TORCHELASTIC_RESTART_COUNT = 0 ]; then exec sleep 600; fi";
  Run zero =
      node_zero(2, joined({"--ranks", "2", "--max-restarts", "3"}, script(place + fail_once)));
  Run one = node(endpoint_of(zero), 2, joined({"--ranks", "1"}, script(place + fail_once)));
  CHECK(zero.finish() == 0);
  CHECK(one.finish() == 0);
  CHECK_THAT(zero.seen(), contains("[rank 0] 0 0 0 3 2 2 1") &&
                              contains("attempt 0 of 3: rank 2 of 3") &&
                              contains("starting all 3 ranks again; 2 restarts left"));
  CHECK_THAT(one.seen(), contains("[rank 2] 2 0 1 3 1 2 1") && contains("attempt 0 of 3: rank 2"));
}

TEST_CASE("nodes: a launcher that is killed stops the others, whichever it is") {
  for (const bool kill_zero : {false, true}) {
    Run zero = node_zero(2, joined({"--max-restarts", "5"}, script("echo pid $$; exec sleep 600")));
    Run one = node(endpoint_of(zero), 2, script("echo pid $$; exec sleep 600"));
    const int pids[]{zero.number_after("[rank 0] pid "), one.number_after("[rank 1] pid ")};
    Run& killed = kill_zero ? zero : one;
    Run& other = kill_zero ? one : zero;
    kill(killed.pid(), SIGKILL);
    CHECK(killed.finish() == -SIGKILL);
    CHECK(other.finish() == 1);
    CHECK_THAT(other.seen(), contains(text("the launcher of node ", kill_zero ? 0 : 1)) &&
                                 contains("is gone") && !contains("starting all"));
    for (const int pid : pids) CHECK(dies(pid));
  }
}

TEST_CASE("nodes: an interrupt on one ends the run on all, without a restart") {
  Run zero = node_zero(2, joined({"--max-restarts", "5"}, script("echo up; exec sleep 600")));
  Run one = node(endpoint_of(zero), 2, script("echo up; exec sleep 600"));
  REQUIRE(zero.read_until("[rank 0] up"));
  REQUIRE(one.read_until("[rank 1] up"));
  kill(one.pid(), SIGTERM);
  CHECK(one.finish() == 1);
  CHECK(zero.finish() == 1);
  CHECK_THAT(zero.seen(),
             contains("interrupted by SIGTERM on node 1") && !contains("starting all"));
}

TEST_CASE("nodes: those that do not come are named at the deadline, to all that came") {
  Run zero = node_zero(4, joined({"--rdzv-timeout", "3"}, script("true")));
  Run two = node(endpoint_of(zero), 4, joined({"--node-rank", "2"}, script("true")));
  CHECK(zero.finish() == 1);
  CHECK(two.finish() == 1);
  for (const Run* run : {&zero, &two}) {
    CHECK_THAT(run->seen(),
               contains("nodes 1, 3 of 4 did not reach 127.0.0.1:") && contains("within 3 s"));
  }
}

TEST_CASE("nodes: a number that is there twice, and other numbers of nodes, are refused") {
  Run zero = node_zero(3, joined({"--rdzv-timeout", "20"}, script("true")));
  const std::string at = endpoint_of(zero);
  Run one = node(at, 3, joined({"--node-rank", "1"}, script("true")));
  Run again = node(at, 3, joined({"--node-rank", "1"}, script("true")));
  Run other = node(at, 5, script("true"));
  // Which of the two is first is not ours to say.
  CHECK(other.finish() == 2);
  CHECK_THAT(other.seen(), contains("--nnodes is 5 on ") && contains("says 3"));
  REQUIRE(zero.read_until("exists twice"));
  Run two = node(at, 3, joined({"--node-rank", "2"}, script("true")));
  CHECK(zero.finish() == 0);
  CHECK(two.finish() == 0);
  CHECK(one.finish() + again.finish() == 2);
  CHECK_THAT(one.seen() + again.seen(), contains("node 1 exists twice"));
}

TEST_CASE("nodes: an endpoint where nobody or somebody else listens is one sentence") {
  const lockstep::test::SilentPort silent;
  Run nobody = node(text("127.0.0.1:", silent.number()), 2,
                    joined({"--node-rank", "1", "--rdzv-timeout", "0.2"}, script("true")));
  CHECK(nobody.finish() == 1);
  CHECK_THAT(nobody.seen(), contains("nobody answers at 127.0.0.1:"));

  const comm::StoreServer server;
  Run taken =
      node(text("127.0.0.1:", server.port()), 2, joined({"--node-rank", "0"}, script("true")));
  CHECK(taken.finish() == 2);
  CHECK_THAT(taken.seen(), contains("is in use"));
}

TEST_CASE("nodes: options that do not fit together are one sentence") {
  const auto complaint = [](const Words& words) {
    Run run(joined(words, script("true")));
    CHECK(run.finish() == 2);
    return run.seen();
  };
  CHECK_THAT(complaint({"--nnodes", "2"}), contains("needs --rdzv-endpoint HOST:PORT"));
  CHECK_THAT(complaint({"--nnodes", "2", "--rdzv-endpoint", "a:1", "--node-rank", "2"}),
             contains("--node-rank 2 is more than 1"));
  for (const char* typed : {":29400", "a:b", "a:70000", "a:1:2", "[::1", "[::1]x"}) {
    CHECK_THAT(complaint({"--nnodes", "2", "--rdzv-endpoint", typed}),
               contains(text("--rdzv-endpoint is \"", typed, "\"")) && contains("HOST:PORT"));
  }
}

TEST_CASE("nodes: with several, a rank that calls itself spare is needed all the same") {
  const std::string dies_alone = "[ $RANK = 1 ] || exec sleep 600; : > $LOCKSTEP_SPARE; exit 7";
  Run zero = node_zero(2, script(dies_alone));
  Run one = node(endpoint_of(zero), 2, joined({"--ranks", "2"}, script(dies_alone)));
  CHECK(zero.finish() == 1);
  CHECK(one.finish() == 1);
  CHECK_THAT(zero.seen(), contains("rank 1 of 3") && contains("exited with code 7") &&
                              contains("the 2 ranks still running were stopped"));
}
