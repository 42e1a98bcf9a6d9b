// Work in child processes: what goes wrong in one is that one's.
#include "grader/batch/processes/worker_processes.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <map>

#include "engine/base/error.hpp"
#include "grader/batch/processes/processor_time.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::grader;

namespace {

using Ended = Outcome::State;
using Task = std::function<std::string()>;

std::map<std::size_t, Outcome> outcomes_of(const std::vector<Task>& tasks,
                                           const WorkerLimits& limits = {}) {
  std::map<std::size_t, Outcome> outcomes;
  work_through(tasks, limits,
               [&](std::size_t task, Outcome outcome) { outcomes[task] = std::move(outcome); });
  return outcomes;
}

[[noreturn]] void spin() {
  for (volatile unsigned turns = 0;;) turns = turns + 1;
}

double clock_s() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

}  // namespace

TEST_CASE("worker processes: a task that fails in any way fails alone, and it is said how") {
  const auto right = [] { return std::string("an answer"); };
  const auto outcomes = outcomes_of(
      {right, []() -> std::string { throw Error("no such file"); },
       []() -> std::string { throw 7; }, [] { return std::string(::raise(SIGKILL), 'x'); },
       []() -> std::string { ::_exit(0); }, [] { return std::string(2000, 'x'); }, right},
      {.jobs = 2, .answer_bytes = 1000});
  REQUIRE(outcomes.size() == 7);
  for (const std::size_t task : {0, 6}) {
    CHECK(outcomes.at(task).state == Ended::answered);
    CHECK(outcomes.at(task).answer == "an answer");
  }
  for (std::size_t task = 1; task < 6; ++task) CHECK(outcomes.at(task).state == Ended::died);
  CHECK(outcomes.at(1).how == "no such file");
  CHECK(outcomes.at(2).how == "an unknown exception");
  CHECK_THAT(outcomes.at(3).how, test::contains("Killed"));
  CHECK_THAT(outcomes.at(4).how, test::contains("without an answer"));
  CHECK_THAT(outcomes.at(5).how, test::contains("longer than 1000 bytes"));
  CHECK(outcomes.at(5).answer.empty());
}

TEST_CASE("worker processes: an answer of exactly the length that is allowed is whole") {
  const auto outcomes = outcomes_of({[] { return std::string(999, 'x'); }}, {.answer_bytes = 1000});
  CHECK(outcomes.at(0).state == Ended::answered);
  CHECK(outcomes.at(0).answer.size() == 999);
}

TEST_CASE(
    "worker processes: a task waits for its turn, and one that is left out is never heard of") {
  int asked = 0;
  std::vector<std::size_t> done;
  work_through(
      {[] { return "0"; }, [] { return "1"; }, [] { return "2"; }}, {},
      [&](std::size_t task, const Outcome&) { done.push_back(task); },
      [&](std::size_t task) {
        if (task == 1) return Turn::leave_out;
        if (task == 2 && asked++ < 3) return Turn::wait;
        return Turn::start;
      });
  CHECK(done == std::vector<std::size_t>{0, 2});
  CHECK(asked == 4);
}

TEST_CASE("worker processes: processor time is that of the task and of all that it started") {
  const auto sleeps = [] { return std::to_string(::usleep(500'000)); };
  // Its child's child works, and its child does not wait for that.
  const auto leaves_an_orphan = [] {
    int ends[2];
    static_cast<void>(!::pipe(ends));
    if (::fork() == 0) {
      if (::fork() != 0) ::_exit(0);
      for (volatile unsigned turns = 0; ::clock() < CLOCKS_PER_SEC / 3;) turns = turns + 1;
      ::_exit(0);
    }
    ::close(ends[1]);
    char none = 0;
    return std::to_string(::read(ends[0], &none, 1));  // when both have ended
  };
  const auto outcomes = outcomes_of({sleeps, leaves_an_orphan}, {.deadline_s = 30});
  CHECK(outcomes.at(0).processor_s < 0.3);
  CHECK(outcomes.at(1).answer == "0");
  CHECK(outcomes.at(1).processor_s >= 0.3);
}

TEST_CASE("worker processes: of a task that is ended, too, it is known how much it used") {
  const auto sleeps = []() -> std::string { return std::to_string(::sleep(100)); };
  const auto starts_a_spinner = []() -> std::string {
    if (::fork() == 0) spin();
    return std::to_string(::sleep(100));
  };
  const auto outcomes = outcomes_of({sleeps, starts_a_spinner}, {.jobs = 2, .deadline_s = 3});
  CHECK(outcomes.at(0).state == Ended::timed_out);
  CHECK(outcomes.at(0).processor_s < 0.1);
  CHECK(outcomes.at(1).state == Ended::timed_out);
  CHECK(outcomes.at(1).processor_s > 0.1);  // of three seconds, on a machine that has other work
}

TEST_CASE("worker processes: an exception of whoever hears the outcomes ends the others") {
  const double begin = clock_s();
  const auto run = [] {
    work_through({[] { return "now"; }, [] { return std::to_string(::sleep(60)); }}, {.jobs = 2},
                 [](std::size_t, const Outcome&) { throw Error("the disk is full"); });
  };
  CHECK_THROWS_WITH(run(), "the disk is full");
  CHECK(clock_s() - begin < 30);
}
