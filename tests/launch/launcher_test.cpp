// The launcher as a person meets it: lockstep-run is started, its output and exit code are read.
#include "engine/launch/launcher.hpp"

#include <signal.h>

#include <algorithm>
#include <chrono>

#include "engine/base/error.hpp"
#include "engine/comm/stores/tcp_store.hpp"
#include "engine/launch/worker_variables.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/fewest_seconds.hpp"
#include "tests/launch/run.hpp"

using namespace lockstep;
using namespace lockstep::launch;
using lockstep::test::contains;
using lockstep::test::dies;
using lockstep::test::Run;
using lockstep::test::shell;

namespace {

std::size_t lines_of(const std::string& output) {
  return static_cast<std::size_t>(std::count(output.begin(), output.end(), '\n'));
}

// Kills one of four ranks; the seconds until the launcher has ended. Then no rank is left. Each has
// a child of its own and a trap, so SIGTERM alone would not end them.
double seconds_after_a_kill() {
  Run run(shell(4, "trap '' TERM; sleep 600 & echo pid $$; wait"));
  std::vector<pid_t> pids;
  for (int rank = 0; rank < 4; ++rank) {
    pids.push_back(run.number_after(text("[rank ", rank, "] pid ")));
  }
  const auto killed_at = std::chrono::steady_clock::now();
  kill(pids[2], SIGKILL);
  CHECK(run.finish() == 1);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - killed_at;
  CHECK_THAT(run.seen(), contains(text("rank 2 of 4 (pid ", pids[2], ") was killed by signal 9")));
  for (const pid_t pid : pids) CHECK(dies(pid));
  return took.count();
}

}  // namespace

TEST_CASE("launcher: every rank gets all of torchrun's variables, its lines its prefix") {
  Run run(shell(3,
                "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_RANK "
                "$GROUP_WORLD_SIZE $ROLE_NAME $ROLE_RANK $ROLE_WORLD_SIZE $MASTER_ADDR "
                "$TORCHELASTIC_RESTART_COUNT $TORCHELASTIC_MAX_RESTARTS "
                "$TORCHELASTIC_USE_AGENT_STORE $TORCH_NCCL_ASYNC_ERROR_HANDLING $OMP_NUM_THREADS "
                "$LOCKSTEP_ADDR; test $MASTER_PORT -gt 0 && test -d ${TORCHELASTIC_ERROR_FILE%/*} "
                "&& test $LOCKSTEP_STORE != $MASTER_ADDR:$MASTER_PORT"));
  CHECK(run.finish() == 0);
  for (int rank = 0; rank < 3; ++rank) {
    CHECK_THAT(run.seen(), contains(text("[rank ", rank, "] ", rank, " ", rank, " 3 3 0 1 default ",
                                         rank, " 3 127.0.0.1 0 0 False 1 1 127.0.0.1\n")));
  }
  CHECK(lines_of(run.seen()) == 3);
}

TEST_CASE("launcher: ours replace inherited variables, one thread each unless asked otherwise") {
  Plan plan;
  plan.ranks_per_node = {2, 3};
  plan.node = 1;
  plan.store = {"::1", 29500};
  const auto has = [](const std::vector<std::string>& all, const std::string& entry) {
    return std::count(all.begin(), all.end(), entry);
  };
  const auto two =
      environment_of(plan, 1, {"/e.json", "/spare"}, {"RANK=9", "RANKS=7", "HOME=/root"});
  CHECK(has(two, "RANK=3") == 1);
  CHECK(has(two, "RANK=9") == 0);
  CHECK(has(two, "RANKS=7") == 1);
  CHECK(has(two, "HOME=/root") == 1);
  CHECK(has(two, "ROLE_RANK=3") == 1);
  CHECK(has(two, "ROLE_WORLD_SIZE=5") == 1);
  CHECK(has(two, "LOCKSTEP_STORE=::1:29500") == 1);
  CHECK(has(two, "TORCHELASTIC_ERROR_FILE=/e.json") == 1);
  CHECK(has(two, "LOCKSTEP_SPARE=/spare") == 1);
  CHECK(has(two, "OMP_NUM_THREADS=1") == 1);
  const auto asked = environment_of(plan, 1, {}, {"OMP_NUM_THREADS=4"});
  CHECK(has(asked, "OMP_NUM_THREADS=4") == 1);
  CHECK(has(asked, "OMP_NUM_THREADS=1") == 0);
  plan.ranks_per_node = {2, 1};
  CHECK(has(environment_of(plan, 0, {}, {}), "OMP_NUM_THREADS=1") == 0);
}

TEST_CASE("launcher: lines of many ranks stay whole, and an unfinished last line is printed") {
  Run run(shell(4, "for i in 1 2 3 4 5 6 7 8 9; do echo line $i >&2; done; printf end"));
  CHECK(run.finish() == 0);
  CHECK(lines_of(run.seen()) == 40);
  for (int rank = 0; rank < 4; ++rank) {
    CHECK_THAT(run.seen(), contains(text("[rank ", rank, "] line 9\n")));
    CHECK_THAT(run.seen(), contains(text("[rank ", rank, "] end\n")));
  }
}

TEST_CASE("launcher: rank 0 keeps the terminal when only the others are prefixed") {
  Run run({"--ranks", "2", "--prefix", "others", "--", "/bin/sh", "-c", "printf 'a\\rb\\n'"});
  CHECK(run.finish() == 0);
  CHECK_THAT(run.seen(), contains("[rank 1] a\rb\n"));
  CHECK_THAT(run.seen(), !contains("[rank 0]"));
  CHECK(lines_of(run.seen()) == 2);
}

TEST_CASE("launcher: the first failure is reported with its code and its last lines") {
  Run run(shell(4,
                "if [ $RANK = 2 ]; then echo before; echo the reason >&2; exit 7; fi;"
                "exec sleep 600"));
  CHECK(run.finish() == 1);
  CHECK_THAT(run.seen(), contains("rank 2 of 4 (pid ") && contains("exited with code 7") &&
                             contains("the 3 ranks still running were stopped") &&
                             contains("last lines of rank 2:") && contains("\n  the reason"));
}

TEST_CASE("launcher: one of four ranks killed, all end at once and none is left") {
  const double took = lockstep::test::fewest_seconds(3, seconds_after_a_kill);
  WARN("all ranks ended " << took << " s after the kill");
  CHECK(took < 3);
}

TEST_CASE("launcher: a spare rank that is killed ends nothing, and nothing is started again") {
  Run run({"--ranks", "3", "--max-restarts", "1", "--", "/bin/sh", "-c",
           "trap 'echo went on; exit 0' USR1; [ $RANK = 0 ] || : > $LOCKSTEP_SPARE; echo pid $$;"
           "while :; do sleep 0.01; done"});
  std::vector<pid_t> pids;
  for (int rank = 0; rank < 3; ++rank) {
    pids.push_back(run.number_after(text("[rank ", rank, "] pid ")));
  }
  kill(pids[2], SIGKILL);
  REQUIRE(dies(pids[2]));
  kill(run.pid(), SIGUSR1);
  CHECK(run.finish() == 1);
  CHECK_THAT(run.seen(), contains("[rank 0] went on") && contains("[rank 1] went on"));
  CHECK_THAT(run.seen(), contains(text("rank 2 of 3 (pid ", pids[2], ") was killed by signal 9")));
  CHECK_THAT(run.seen(), !contains("stopped") && !contains("again"));
}

TEST_CASE("launcher: spare ranks do not keep a run for long that the others have ended", "[.all]") {
  Run run(shell(2, "[ $RANK = 0 ] || { : > $LOCKSTEP_SPARE; exec sleep 600; }"));
  CHECK(run.finish() == 1);
  CHECK_THAT(run.seen(), contains("rank 1 still runs 5 s after") && contains("rank 1 of 2 (pid ") &&
                             contains("killed by signal 9"));
}

TEST_CASE("launcher: a rank that becomes spare when the others have ended keeps no run, either") {
  const lockstep::test::Scratch scratch;
  const std::string pid = (scratch.path() / "pid").string();
  // Rank 0 is gone when its launcher has taken note of it.
  Run run(shell(2, "[ $RANK = 1 ] || { echo $$ > " + pid + "; exit; }; until [ -s " + pid +
                       " ]; do sleep 0.01; done; while kill -0 $(cat " + pid +
                       "); do sleep 0.01; done 2> /dev/null; : > $LOCKSTEP_SPARE; exec sleep 600"));
  CHECK(run.finish() == 1);
  CHECK_THAT(run.seen(), contains("rank 1 still runs 5 s after"));
}

TEST_CASE("launcher: SIGUSR1 and SIGUSR2 go on to every rank, and the run goes on") {
  // Longer than the grace between the two, which a stop would have begun.
  Run run({"--ranks", "2", "--grace", "0", "--", "/bin/sh", "-c",
           "trap 'echo one' USR1; trap 'echo two; exit 0' USR2; echo ready;"
           "while :; do sleep 0.01; done"});
  REQUIRE(run.read_until("[rank 0] ready"));
  REQUIRE(run.read_until("[rank 1] ready"));
  kill(run.pid(), SIGUSR1);
  CHECK(run.read_until("[rank 0] one"));
  CHECK(run.read_until("[rank 1] one"));
  kill(run.pid(), SIGUSR2);
  CHECK(run.finish() == 0);
  CHECK_THAT(run.seen(),
             contains("[rank 0] two") && contains("[rank 1] two") && !contains("interrupted"));
}

TEST_CASE("launcher: an interrupt goes on to every rank") {
  // The grace is what a busy machine needs to let each rank say it.
  Run run({"--ranks", "2", "--grace", "60", "--", "/bin/sh", "-c",
           "trap 'echo got it; exit 0' INT; echo ready; while :; do sleep 0.01; done"});
  REQUIRE(run.read_until("[rank 0] ready"));
  REQUIRE(run.read_until("[rank 1] ready"));
  kill(run.pid(), SIGINT);
  CHECK(run.finish() == 1);
  CHECK_THAT(run.seen(), contains("[rank 0] got it") && contains("[rank 1] got it") &&
                             contains("interrupted by SIGINT"));
}

TEST_CASE("launcher: a launcher that is killed takes its ranks with it") {
  Run run(shell(2, "echo pid $$; exec sleep 600"));
  REQUIRE(run.read_until("[rank 0] pid "));
  REQUIRE(run.read_until("[rank 1] pid "));
  kill(run.pid(), SIGKILL);
  // The output ends only when the last process that holds it has ended.
  CHECK(run.finish() == -SIGKILL);
}

TEST_CASE("launcher: what cannot be started is one sentence and exit code 2") {
  Run missing({"--ranks", "2", "--", "./no_such_program"});
  CHECK(missing.finish() == 2);
  CHECK_THAT(missing.seen(), contains("cannot start ./no_such_program: No such file"));
  Run nothing({"--ranks", "2"});
  CHECK(nothing.finish() == 2);
  CHECK_THAT(nothing.seen(), contains("no program to run"));
  Run none({"--ranks", "0", "--", "true"});
  CHECK(none.finish() == 2);
  CHECK_THAT(none.seen(), contains("ranks"));
  Run typo({"--rank", "2", "--", "true"});
  CHECK(typo.finish() == 2);
  CHECK_THAT(typo.seen(), contains("--ranks"));
}

TEST_CASE("launcher: a port in use is named, with what to type") {
  const comm::StoreServer server;
  Run run({"--ranks", "1", "--port", std::to_string(server.port()), "--", "true"});
  CHECK(run.finish() == 2);
  CHECK_THAT(run.seen(), contains(text("port ", server.port(), " on 127.0.0.1 is in use")) &&
                             contains("--port 0"));
  Run master({"--ranks", "1", "--master-port", std::to_string(server.port()), "--", "true"});
  CHECK(master.finish() == 2);
  CHECK_THAT(master.seen(), contains(text("port ", server.port(), " on 127.0.0.1 is in use")) &&
                                contains("--master-port 0"));
}

TEST_CASE("launcher: a number that is too large is named as it was typed") {
  Run port({"--port", "99999", "--", "true"});
  CHECK(port.finish() == 2);
  CHECK_THAT(port.seen(), contains("--port 99999 is more than 65535"));
  Run ranks({"--ranks", "99999999999", "--", "true"});
  CHECK(ranks.finish() == 2);
  CHECK_THAT(ranks.seen(), contains("--ranks 99999999999 is more than 4096"));
}

TEST_CASE("launcher: one rank is not several") {
  Run run(shell(2, "if [ $RANK = 1 ]; then exit 7; fi; exec sleep 600"));
  CHECK(run.finish() == 1);
  CHECK_THAT(run.seen(), contains("the one rank still running was stopped"));
}
