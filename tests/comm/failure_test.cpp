// What the ranks learn when one of them is killed, stays away, or calls something else.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <thread>

#include "engine/comm/gloo.hpp"
#include "tests/catch.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/fewest_seconds.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using lockstep::test::contains;
using lockstep::test::error_of;
using lockstep::test::expect;
using lockstep::test::failures;
using lockstep::test::ones;
using lockstep::test::refusal_of;
using lockstep::test::run_gloo;
using lockstep::test::run_processes;

namespace {

const GlooOptions over_tcp{.transport = Transport::gloo};

// Whoever is told earlier has not waited for it.
constexpr double deadline_s = 20;

// A deadline that is waited for. All that comes before it has so long, on a busy machine, too.
constexpr double brief_s = 2;

struct Reach : ProcessGroup {
  static void give_up(ProcessGroup& group, const std::string& why) { give_up_in(group, why); }
};

// Ends this process when all of `others` have said that they are past the first operation.
[[noreturn]] void die_after(Store& store, std::vector<std::string> others) {
  store.wait(others, 60);
  kill(getpid(), SIGKILL);
  std::abort();
}

// Kills a rank of four, and checks what the others are told; the seconds until the last one was.
double seconds_until_all_are_told() {
  const auto outcomes = run_processes(4, [](Store& store, int rank) -> std::string {
    const auto world = make_gloo_group(store, rank, 4, over_tcp);
    ProcessGroup& group = *world;
    CpuDevice device;
    const Tensor data = ones(65537, DType::float32, device);
    group.all_reduce(data, ReduceOp::sum);
    if (rank == 2) die_after(store, {"past/0", "past/1", "past/3"});
    store.set(text("past/", rank), "");
    const auto begin = std::chrono::steady_clock::now();
    const std::string first = error_of([&] { group.all_reduce(data, ReduceOp::sum); });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const std::string second = error_of([&] { group.barrier(); });
    expect(second.find("has failed before: " + first) != std::string::npos, second);
    return text(first, " | seconds: ", took.count());
  });
  double slowest_s = 0;
  for (const int rank : {0, 1, 3}) {
    const auto& outcome = outcomes[static_cast<std::size_t>(rank)];
    INFO(outcome.message);
    CHECK(outcome.ok);
    CHECK_THAT(outcome.message,
               contains(text("rank ", rank,
                             " of 4: collective no. 2, all_reduce"
                             " (sum) of 65537 float32 at tests/comm/failure_test")) &&
                   contains("rank 2 does not answer"));
    slowest_s = std::max(slowest_s,
                         std::stod(outcome.message.substr(outcome.message.find("seconds: ") + 9)));
  }
  CHECK_FALSE(outcomes[2].ok);
  return slowest_s;
}

}  // namespace

TEST_CASE("the harness: a rank that throws, crashes or exits badly fails the test") {
  const auto outcomes = run_processes(4, [](Store&, int rank) -> std::string {
    if (rank == 1) throw Error("the reason");
    if (rank == 2) kill(getpid(), SIGKILL);
    if (rank == 3) expect(false, "an expectation");
    return "well";
  });
  CHECK(outcomes[0].ok);
  CHECK(outcomes[0].message == "well");
  CHECK(failures(outcomes) == "rank 1: the reason\nrank 2:  [signal 9]\nrank 3: an expectation\n");
}

TEST_CASE("gloo failure: when a rank is killed, its peers learn it within a second, by name") {
  CHECK(lockstep::test::fewest_seconds(3, seconds_until_all_are_told) < 3);
}

TEST_CASE("gloo failure: a rank that never calls is named after the deadline") {
  const auto outcomes = run_processes(3, [](Store& store, int rank) -> std::string {
    GlooOptions options = over_tcp;
    options.timeout_s = brief_s;
    const auto group = make_gloo_group(store, rank, 3, options);
    if (rank == 1) {
      const std::vector<std::string> others{"done/0", "done/2"};
      store.wait(others, 60);
      return "";
    }
    CpuDevice device;
    const std::string error =
        error_of([&] { group->all_reduce(ones(10, DType::int64, device), ReduceOp::max); });
    store.set(text("done/", rank), "");
    return error;
  });
  CHECK(failures(outcomes) == "");
  for (const int rank : {0, 2}) {
    CHECK_THAT(outcomes[static_cast<std::size_t>(rank)].message,
               contains("rank 1 does not answer") && contains("all_reduce (max) of 10 int64") &&
                   contains(text("rank ", 2 - rank, " was in")));
  }
}

TEST_CASE("gloo failure: ranks that call different things are told what each called") {
  const auto outcomes = run_gloo(
      2,
      [](ProcessGroup& group) -> std::string {
        CpuDevice device;
        const std::int64_t count = group.rank() == 0 ? 100 : 50;
        return error_of(
            [&] { group.all_reduce(ones(count, DType::float32, device), ReduceOp::sum); });
      },
      brief_s);
  CHECK(failures(outcomes) == "");
  CHECK_THAT(outcomes[0].message,
             contains("rank 0 of 2: collective no. 1, all_reduce (sum) of 100") &&
                 contains("rank 1 was in collective no. 1, all_reduce (sum) of "
                          "50 float32 at tests/comm/failure_test.cpp"));
  CHECK_THAT(outcomes[1].message, contains("rank 0 was in") && contains("of 100 float32"));
}

TEST_CASE("gloo failure: a message of another length is a sentence, not a crash") {
  const auto outcomes = run_gloo(
      2,
      [](ProcessGroup& group) -> std::string {
        CpuDevice device;
        if (group.rank() == 0) {
          return error_of([&] { group.send(ones(100, DType::float32, device), 1); });
        }
        return error_of([&] { group.recv(ones(50, DType::float32, device), 0); });
      },
      brief_s);
  CHECK(failures(outcomes) == "");
  CHECK_THAT(outcomes[0].message, contains("send to rank 1 (tag 0) of 100 float32") &&
                                      contains("rank 1 was in recv from rank 0 (tag 0) of 50"));
}

TEST_CASE("gloo failure: ranks that do not come to the group are named") {
  const auto outcomes = run_processes(2, [](Store& store, int rank) {
    GlooOptions options;
    options.meet_timeout_s = brief_s;
    return error_of([&] { make_gloo_group(store, rank, 4, options); });
  });
  CHECK(failures(outcomes) == "");
  CHECK_THAT(outcomes[0].message,
             contains("the group \"world\" is not whole: ranks 2, 3 of 4 did not come") &&
                 contains("2 s"));
}

TEST_CASE("gloo failure: a rank that gives up ends its own operation, and all are told why") {
  const auto outcomes = run_processes(2, [](Store& store, int rank) -> std::string {
    GlooOptions options = over_tcp;
    options.timeout_s = 5;
    const auto group = make_gloo_group(store, rank, 2, options);
    CpuDevice device;
    const Tensor data = ones(1000, DType::float32, device);
    if (rank == 1) return error_of([&] { group->recv(data, 0); });
    Work work = group->all_reduce_async(data, ReduceOp::sum);
    // Meanwhile it has begun to wait in Gloo.
    for (int i = 0; i < 100; ++i) store.set("asked", text(i));
    Reach::give_up(*group, "rank 0 has had enough");
    return error_of([&] { work.wait(); });
  });
  CHECK(failures(outcomes) == "");
  for (const auto& outcome : outcomes) {
    INFO(outcome.message);
    CHECK_THAT(outcome.message, contains("rank 0 has had enough") && !contains("Timed out"));
  }
  CHECK_THAT(outcomes[0].message, contains("all_reduce (sum) of 1000 float32 at tests/comm/"));
}

TEST_CASE("gloo failure: who waits for a rank that is well is told soon that another one gave up") {
  const auto outcomes = run_processes(3, [](Store& store, int rank) -> std::string {
    GlooOptions options = over_tcp;
    options.timeout_s = deadline_s;
    const auto group = make_gloo_group(store, rank, 3, options);
    CpuDevice device;
    if (rank == 0) {
      const std::string error =
          error_of([&] { group->recv(ones(1000, DType::float32, device), 2); });
      store.set("told", "");
      return error;
    }
    if (rank == 1) Reach::give_up(*group, "rank 1 has had enough");
    const std::vector<std::string> keys{"told"};
    store.wait(keys, 60);
    return "";
  });
  CHECK(failures(outcomes) == "");
  CHECK_THAT(outcomes[0].message, contains("rank 1 has had enough") && !contains("Timed out"));
  CHECK(outcomes[0].seconds < deadline_s / 2);
}

TEST_CASE("gloo failure: a failure is told while another thread of the rank waits in the store") {
  const auto outcomes = run_processes(3, [](Store& store, int rank) -> std::string {
    GlooOptions options = over_tcp;
    options.timeout_s = deadline_s;
    const auto group = make_gloo_group(store, rank, 3, options);
    CpuDevice device;
    const std::vector<std::string> told{"told"};
    if (rank == 0) {
      const std::jthread waiting([&] { store.wait(told, 60); });
      const std::string error =
          error_of([&] { group->recv(ones(1000, DType::float32, device), 2); });
      store.set("told", "");
      return error;
    }
    if (rank == 1) Reach::give_up(*group, "rank 1 has had enough");
    store.wait(told, 60);
    return "";
  });
  CHECK(failures(outcomes) == "");
  CHECK_THAT(outcomes[0].message, contains("rank 1 has had enough") && !contains("Timed out"));
  CHECK(outcomes[0].seconds < deadline_s / 2);
}

namespace {

// Another process lets the peer go on when this one is dead: after SIGCONT this one could be
// suspended until the peer has received everything.
void die_and_continue(pid_t peer) {
  const pid_t dying = getpid();
  if (fork() == 0) {
    while (getppid() == dying) usleep(1000);
    kill(peer, SIGCONT);
    _exit(0);
  }
  kill(dying, SIGKILL);
}

}  // namespace

// The peer is stopped first, so that what is sent stays in the sockets, which have no room for all.
TEST_CASE(
    "gloo failure: when a rank is killed in the middle of a message, its only peer learns it") {
  const bool sends = GENERATE(true, false);
  CAPTURE(sends);
  const auto outcomes = run_processes(2, [&](Store& store, int rank) -> std::string {
    GlooOptions options = over_tcp;
    options.timeout_s = deadline_s;
    const auto group = make_gloo_group(store, rank, 2, options);
    CpuDevice device;
    const Tensor data = ones(16 << 20, DType::float32, device),
                 word = ones(1, DType::uint8, device);
    store.set(text("process/", rank), text(getpid()));
    const pid_t peer = std::stoi(store.get(text("process/", 1 - rank)));
    if (sends != (rank == 0)) {
      Work work = group->irecv(data, 1 - rank);
      group->send(word, 1 - rank, 1);
      return error_of([&] { work.wait(); });
    }
    group->recv(word, 1 - rank, 1);  // its peer waits for the data, so sending begins at once
    kill(peer, SIGSTOP);
    Work work = group->isend(data, 1 - rank);
    if (rank == 1) die_and_continue(peer);
    kill(peer, SIGKILL);
    return error_of([&] { work.wait(); });
  });
  CHECK(outcomes[0].ok);
  CHECK_THAT(outcomes[0].message, contains("rank 1 does not answer") && !contains("Timed out"));
  CHECK(outcomes[0].seconds < deadline_s / 2);
}

TEST_CASE("gloo failure: an asynchronous operation reports where it was started") {
  const auto outcomes = run_processes(3, [](Store& store, int rank) -> std::string {
    const auto group = make_gloo_group(store, rank, 3, over_tcp);
    CpuDevice device;
    const Tensor data = ones(1000, DType::float64, device);
    group->barrier();
    if (rank == 1) die_after(store, {"past/0", "past/2"});
    store.set(text("past/", rank), "");
    return error_of([&] {
      Work first = group->all_reduce_async(data, ReduceOp::sum);
      first.wait();
    });
  });
  CHECK_THAT(outcomes[0].message, contains("all_reduce (sum) of 1000 float64 at tests/comm/") &&
                                      contains("rank 1 does not answer"));
  CHECK(outcomes[0].ok);
  CHECK(outcomes[2].ok);
}

TEST_CASE("deadlines: a rank that is late is waited for, however long the deadline") {
  for (const Transport transport : {Transport::gloo, Transport::shm}) {
    for (const double timeout_s : {1e10, 1e18, std::numeric_limits<double>::infinity()}) {
      CAPTURE(timeout_s);
      const auto outcomes = run_processes(2, [&](Store& store, int rank) -> std::string {
        const auto group =
            make_gloo_group(store, rank, 2, {.timeout_s = timeout_s, .transport = transport});
        // Longer than a waiting rank sleeps before it looks at the clock.
        const auto be_late = [&] {
          const std::vector<std::string> never{"never"};
          if (rank == 1) error_of([&] { store.wait(never, 0.1); });
        };
        CpuDevice device;
        const Tensor data = ones(1000, DType::float32, device);
        be_late();
        group->all_reduce(data, ReduceOp::sum);
        be_late();
        rank == 0 ? group->recv(data, 1) : group->send(data, 0);
        be_late();
        group->monitored_barrier(timeout_s);
        return "";
      });
      CHECK(failures(outcomes) == "");
    }
  }
}

TEST_CASE("deadlines: a group whose operations would have no time is refused, on each rank") {
  for (const Transport transport : {Transport::gloo, Transport::shm}) {
    for (const double timeout_s : {0.0, -1.0, 0.0 / 0.0, -1.0 / 0.0}) {
      const auto outcomes = run_processes(2, [&](Store& store, int rank) {
        GlooOptions options{.timeout_s = timeout_s, .transport = transport};
        const std::string refusal = refusal_of([&] { make_gloo_group(store, rank, 2, options); });
        expect(refusal.find("it must be positive") != std::string::npos, refusal);
        options = {.meet_timeout_s = timeout_s - 1, .transport = transport};
        return refusal_of([&] { make_gloo_group(store, rank, 2, options); });
      });
      CHECK(failures(outcomes) == "");
      CHECK_THAT(outcomes[1].message, contains("pass 0 to 1000000 seconds"));
    }
  }
}
