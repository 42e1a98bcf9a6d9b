// What goes wrong in a run of several ranks, one fault after the other, as a person sees it: the
// cause is named, before its deadline, and nothing is left behind.
#include <signal.h>

#include <chrono>

#include "engine/base/error.hpp"
#include "engine/comm/stores/tcp_store.hpp"
#include "tests/catch.hpp"
#include "tests/launch/leftovers.hpp"
#include "tests/launch/run.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::Leftovers;
using lockstep::test::Run;
using Words = std::vector<std::string>;

namespace {

// When the waits of a rank end: late, unless that is what a test waits for.
enum class Deadline : std::uint8_t { late, soon };
constexpr double soon_s = 2, late_s = 120;

// Three ranks of the loop, one of which has a fault.
struct Faulty {
  explicit Faulty(const Words& arguments, Deadline deadline = Deadline::late)
      : run(Run::of(command_of(arguments, deadline), leftovers.variables())) {}

  static Words command_of(const Words& arguments, Deadline deadline) {
    Words command{LOCKSTEP_RUN,
                  "--ranks",
                  "3",
                  "--",
                  LOCKSTEP_LOOP_RANK,
                  "--timeout",
                  text(deadline == Deadline::soon ? soon_s : late_s)};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
  }

  // Waits for its end, of which this is the code; then nothing may be left.
  void expect_end(int code) {
    const auto began = std::chrono::steady_clock::now();
    CHECK(run.finish() == code);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    CHECK(took.count() < late_s / 2);  // the machine may be busy
    CHECK(leftovers.wait_for_processes(60));
    CHECK(leftovers.found(run.seen()) == Words{});
  }

  Leftovers leftovers;
  Run run;
};

// The launcher's own words, which begin with the rank that it takes for the cause.
std::string report_in(const std::string& seen) {
  const auto at = seen.find("\nrank ");
  return at == std::string::npos ? "" : seen.substr(at + 1);
}

// The same where `silent` never ended by itself: the report is of one that waited for it.
std::string words_of_another(const std::string& seen, int silent) {
  const std::string report = report_in(seen);
  CHECK(report.starts_with("rank "));
  CHECK_FALSE(report.starts_with(text("rank ", silent)));
  CHECK_THAT(report, contains("exited with code 1"));
  return report;
}

}  // namespace

TEST_CASE("faults: a rank that never comes is named at the deadline by those that wait") {
  for (const char* transport : {"gloo", "shm"}) {
    for (const char* fault : {"absent", "late"}) {  // before the store, and after it
      INFO(transport << " " << fault);
      Faulty faulty({"--fault", fault, "--rank", "1", "--transport", transport}, Deadline::soon);
      faulty.expect_end(1);
      CHECK_THAT(words_of_another(faulty.run.seen(), 1),
                 contains("rank 1 of 3 did not come within 2 s"));
    }
  }
}

TEST_CASE("faults: a rank that is there twice is told so, with both processes") {
  Faulty faulty({"--rank", "2", "--says-rank", "0"});
  faulty.expect_end(1);
  CHECK_THAT(report_in(faulty.run.seen()), contains("rank 0 exists twice: as process ") &&
                                               contains("RANK must differ in every process"));
}

TEST_CASE("faults: a rank with another idea of how many they are is told so") {
  Faulty faulty({"--rank", "1", "--says-size", "5"});
  faulty.expect_end(1);
  CHECK_THAT(report_in(faulty.run.seen()),
             contains("has WORLD_SIZE ") && contains("all ranks of a run must have the same"));
}

TEST_CASE("faults: a rank that fails before the group is made is the cause, in its own words") {
  for (const char* transport : {"gloo", "shm"}) {
    Faulty faulty({"--fault", "joined", "--rank", "1", "--transport", transport});
    faulty.expect_end(1);
    CHECK_THAT(report_in(faulty.run.seen()), contains("rank 1 of 3 (pid ") &&
                                                 contains("exited with code 1") &&
                                                 contains("the data cannot be read"));
  }
}

TEST_CASE("faults: a rank that is killed in a collective or between two is the cause") {
  for (const char* transport : {"gloo", "shm"}) {
    for (const bool within : {true, false}) {
      Faulty faulty(
          {"--fault", within ? "collective" : "between", "--rank", "0", "--transport", transport});
      faulty.expect_end(1);
      CHECK_THAT(report_in(faulty.run.seen()),
                 contains("rank 0 of 3 (pid ") &&
                     contains(within ? "was killed by signal 11" : "was killed by signal 9"));
    }
  }
}

TEST_CASE("faults: a rank that hangs is named at the deadline by those that wait, and is stopped") {
  for (const char* transport : {"gloo", "shm"}) {
    INFO(transport);
    Faulty faulty({"--fault", "hang", "--rank", "2", "--transport", transport}, Deadline::soon);
    faulty.expect_end(1);
    CHECK_THAT(report_in(faulty.run.seen()),
               contains("exited with code 1") && contains("rank 2") && !contains("rank 2 of 3"));
  }
}

TEST_CASE("faults: a stopped rank, which no SIGTERM ends, is killed after the grace") {
  Faulty faulty({"--transport", "shm"}, Deadline::soon);
  REQUIRE(faulty.run.read_until("[rank 1] trains"));
  const auto pid = faulty.leftovers.process_of_rank(1);
  REQUIRE(pid);
  kill(*pid, SIGSTOP);
  faulty.expect_end(1);
  CHECK_THAT(words_of_another(faulty.run.seen(), 1), contains("rank 1"));
}

TEST_CASE("faults: a launcher that is killed while ranks train leaves nothing, no file either") {
  Faulty faulty({});
  for (const char* trains : {"[rank 0] trains", "[rank 1] trains", "[rank 2] trains"}) {
    REQUIRE(faulty.run.read_until(trains));
  }
  kill(faulty.run.pid(), SIGKILL);
  faulty.expect_end(-SIGKILL);
}

TEST_CASE("faults: an address that nobody has, and one that cannot be a rank's, are one sentence") {
  const auto said = [](const char* address, const char* rank) {
    Run run = Run::of({LOCKSTEP_LOOP_RANK, "--timeout", "0.5"},
                      {text("RANK=", rank), "WORLD_SIZE=2", text("LOCAL_RANK=", rank),
                       "LOCAL_WORLD_SIZE=2", text("MASTER_ADDR=", address), "MASTER_PORT=29500"});
    CHECK(run.finish() != 0);
    return run.seen();
  };
  // 192.0.2.0/24 is for documents and no machine's; .invalid is no name at all.
  CHECK_THAT(said("192.0.2.1", "1"), contains("192.0.2.1:29500"));
  CHECK_THAT(said("192.0.2.1", "0"), contains("rank 0 cannot host the store") &&
                                         contains("192.0.2.1") && contains("MASTER_ADDR"));
  CHECK_THAT(said("nobody.invalid", "1"), contains("nobody.invalid"));
}
