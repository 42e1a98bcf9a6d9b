// Restarts, logs and error files of one node, and that nothing a rank started is left.
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/launch/error_file.hpp"
#include "tests/catch.hpp"
#include "tests/course/scratch.hpp"
#include "tests/launch/run.hpp"

using namespace lockstep;
using namespace lockstep::launch;
using lockstep::test::contains;
using lockstep::test::dies;
using lockstep::test::Run;
using lockstep::test::Scratch;
using lockstep::test::shell;
using Words = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

Words with(Words options, const Words& rest) {
  options.insert(options.end(), rest.begin(), rest.end());
  return options;
}

std::string text_of_file(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

Lookup only(const std::string& name, const std::string& value) {
  return [=](const std::string& asked) {
    return asked == name ? std::optional<std::string>(value) : std::nullopt;
  };
}

}  // namespace

TEST_CASE("attempts: all ranks start again after a failure, each time at another store") {
  Run run(with({"--max-restarts", "2"},
               shell(3,
                     "echo $TORCHELASTIC_RESTART_COUNT/$TORCHELASTIC_MAX_RESTARTS $LOCKSTEP_STORE;"
                     "if [ $RANK = 1 ] && [ $TORCHELASTIC_RESTART_COUNT -lt 2 ]; then exit 5; fi;"
                     "[ $TORCHELASTIC_RESTART_COUNT = 2 ] || exec sleep 600")));
  CHECK(run.finish() == 0);
  for (int rank = 0; rank < 3; ++rank) {
    CHECK_THAT(run.seen(), contains(text("[rank ", rank, "] 2/2 127.0.0.1:")));
  }
  CHECK_THAT(run.seen(),
             contains("attempt 0 of 2: rank 1 of 3") && contains("1 restart left after that") &&
                 contains("attempt 1 of 2: rank 1 of 3") && contains("0 restarts left after that"));
}

TEST_CASE("attempts: when none is left the exit code is 1, whatever the rank's was") {
  Run run(with({"--max-restarts", "1"}, shell(2, "exit 7")));
  CHECK(run.finish() == 1);
  CHECK_THAT(run.seen(), contains("attempt 0 of 1: rank ") && contains("attempt 1 of 1: rank ") &&
                             contains("exited with code 7") && !contains("attempt 2"));
}

TEST_CASE("attempts: they have one id, which no other run has, or the one that is typed") {
  std::vector<std::string> ids;
  for (const Words& typed : {Words{}, Words{}, Words{"--rdzv-id", "night"}}) {
    Run run(with(with({"--max-restarts", "1"}, typed),
                 shell(2,
                       "echo id=$TORCHELASTIC_RUN_ID.;"
                       "[ $TORCHELASTIC_RESTART_COUNT = 1 ] || exit 5")));
    CHECK(run.finish() == 0);
    const std::size_t at = run.seen().find("id=");
    ids.push_back(run.seen().substr(at + 3, run.seen().find('.', at) - at - 3));
    CHECK_THAT(run.seen(), contains("[rank 0] id=" + ids.back()) &&
                               contains("[rank 1] id=" + ids.back()) && !contains("attempt 1"));
  }
  CHECK(ids[0].size() == 16);
  CHECK(ids[0] != ids[1]);
  CHECK(ids[2] == "night");
}

TEST_CASE("logs: every rank of every attempt has its own, and what is printed stays the same") {
  const Scratch scratch;
  Run run(with({"--max-restarts", "1", "--log-dir", scratch.path().string(), "--rdzv-id", "night"},
               shell(2,
                     "echo out $RANK; printf 'half a line' >&2;"
                     "echo '{\"message\":\"x\"}' > $TORCHELASTIC_ERROR_FILE;"
                     "[ $TORCHELASTIC_RESTART_COUNT = 0 ] || exit 0;"
                     "[ $RANK = 0 ] || exit 1; exec sleep 600")));
  CHECK(run.finish() == 0);
  CHECK_THAT(run.seen(), contains("[rank 1] out 1\n") && contains("[rank 1] half a line\n"));
  const fs::path folder = fs::directory_iterator(scratch.path())->path();
  CHECK(folder.filename().string().starts_with("night_"));
  CHECK_THAT(run.seen(), contains("logs: " + folder.string()));
  for (const char* attempt : {"attempt_0", "attempt_1"}) {
    const fs::path logs = folder / attempt / "1";
    CHECK(text_of_file(logs / "stdout.log") == "out 1\n");
    CHECK(text_of_file(logs / "stderr.log") == "half a line");
    CHECK(text_of_file(logs / "error.json") == "{\"message\":\"x\"}\n");
  }
  CHECK(text_of_file(folder / "attempt_1" / "0" / "stdout.log") == "out 0\n");
}

TEST_CASE("logs: a rank that keeps the terminal is logged too, byte by byte") {
  const Scratch scratch;
  Run run(with({"--prefix", "none", "--log-dir", scratch.path().string()},
               shell(1, "printf 'a\\rb\\n'; printf c")));
  CHECK(run.finish() == 0);
  CHECK_THAT(run.seen(), contains("a\rb\nc") && !contains("[rank"));
  const fs::path folder = fs::directory_iterator(scratch.path())->path();
  CHECK(text_of_file(folder / "attempt_0" / "0" / "stdout.log") == "a\rb\nc");
}

TEST_CASE("logs: a folder that cannot be made is one sentence") {
  Run run(with({"--log-dir", "/dev/null/logs"}, shell(1, "true")));
  CHECK(run.finish() == 2);
  CHECK_THAT(run.seen(), contains("/dev/null/logs") && contains("--log-dir"));
}

TEST_CASE("error files: what a rank throws is written and read back, with its moment") {
  const Scratch scratch;
  const std::string path = (scratch.path() / "error.json").string();
  const double before = seconds_since_1970();
  CHECK_THROWS_AS(with_error_file(only("TORCHELASTIC_ERROR_FILE", path),
                                  []() -> int { throw CommError("rank 2 \xff \"is\" gone"); }),
                  CommError);
  const auto report = read_error_file(path);
  REQUIRE(report);
  CHECK_THAT(report->message, contains("rank 2") && contains("\"is\" gone"));
  CHECK(report->seconds >= before);
  CHECK(report->seconds <= seconds_since_1970());
  CHECK(report->blames_peers);
  CHECK(with_error_file(only("A", ""), [] { return 3; }) == 3);
  CHECK_THROWS_AS(with_error_file(only("A", ""), []() -> int { throw Error("no file"); }), Error);
}

TEST_CASE("error files: PyTorch's are understood, and garbage is not believed") {
  const Scratch scratch;
  const std::string path = (scratch.path() / "error.json").string();
  const auto read = [&](const std::string& content) {
    std::ofstream(path) << content;
    return read_error_file(path);
  };
  const auto torch = read(R"({"message": {"message": "ValueError: x", "extraInfo":
      {"py_callstack": "…", "timestamp": "1700000000"}}})");
  REQUIRE(torch);
  CHECK(torch->message == "ValueError: x");
  CHECK_FALSE(torch->blames_peers);
  CHECK(torch->seconds > 1.7e9 + 1);  // the file's own time: finer than whole seconds
  CHECK(read(R"({"message": "plain"})")->message == "plain");
  for (const char* garbage : {"", "{", "[]", "7", R"({"message": 7})", R"({"text": ""})"}) {
    CHECK_FALSE(read(garbage));
  }
  CHECK_FALSE(read_error_file((scratch.path() / "none").string()));
}

TEST_CASE("error files: the rank that failed first by its own clock is the cause") {
  // Rank 1 ends first. Rank 0 ends when it is told to, but its own clock says that it failed
  // before.
  const Scratch scratch;
  const std::string fifo = (scratch.path() / "said").string();
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  Run run(with({"--grace", "30"},
               shell(2,
                     "say() { echo '{\"message\": {\"message\": \"'$1'\", \"extraInfo\": "
                     "{\"seconds\": '$2'}}}' > $TORCHELASTIC_ERROR_FILE; };"
                     "if [ $RANK = 1 ]; then read x < " +
                         fifo +
                         "; say noticed 1000.75; exit 4; fi;"
                         "trap 'exit 3' TERM; say first 1000.5; echo go > " +
                         fifo + "; while :; do sleep 0.01; done")));
  CHECK(run.finish() == 1);
  CHECK_THAT(run.seen(), contains("rank 0 of 2 (pid ") && contains("exited with code 3\n") &&
                             contains("what it said: first") &&
                             contains("because of it: rank 1 (exited with code 4)"));
}

TEST_CASE("launcher: what leaves its process group does not outlive the run") {
  for (const bool kill_launcher : {false, true}) {
    const Scratch scratch;
    const std::string at = scratch.path().string();
    // A daemon: a session of its own, its parent gone, nothing of the launcher's open.
    Run run(shell(1, "mkfifo " + at + "/up; (setsid sh -c 'echo $$ > " + at +
                         "/up; exec sleep 600' < /dev/null > /dev/null 2>&1 &);"
                         "read pid < " +
                         at + "/up; echo pid $pid; " +
                         (kill_launcher ? "exec sleep 600" : "exit 0")));
    const int daemon = run.number_after("pid ");
    if (kill_launcher) kill(run.pid(), SIGKILL);
    CHECK(run.finish() == (kill_launcher ? -SIGKILL : 0));
    CHECK(dies(daemon));
  }
}

TEST_CASE("launcher: --grace is what a rank has between SIGTERM and SIGKILL") {
  Run patient(with({"--grace", "30"},
                   shell(2,
                         "if [ $RANK = 1 ]; then trap 'echo saved; exit 0' TERM; echo up;"
                         "while :; do sleep 0.01; done; fi; echo pid $$; exec sleep 600")));
  REQUIRE(patient.read_until("[rank 1] up"));
  kill(patient.number_after("[rank 0] pid "), SIGKILL);
  CHECK(patient.finish() == 1);
  CHECK_THAT(patient.seen(), contains("[rank 1] saved"));
  Run wrong({"--grace", "-1", "--", "true"});
  CHECK(wrong.finish() == 2);
  CHECK_THAT(wrong.seen(), contains("--grace"));
}
