#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <iostream>

#include "engine/sim/hosts/process_host.hpp"
#include "tests/catch.hpp"
#include "tests/sim/scripted.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

PlayerLimits limits() {
  PlayerLimits limits;
  limits.memory_bytes = std::int64_t{LOCKSTEP_PLAYER_MEMORY_MIB} << 20;  // 0 under a sanitizer
  return limits;
}

// For players that loop for ever. The others have as long for what they do before they wait.
PlayerLimits brief_silence() {
  PlayerLimits brief = limits();
  brief.idle_s = 1;
  return brief;
}

ProcessHost host_of(int players, const PlayerLimits& given = limits()) {
  return ProcessHost({LOCKSTEP_TEST_PLAYER}, players, given);
}

Bytes input(const std::string& what) {
  ByteWriter out;
  out.put_text(what);
  return out.take();
}

Bytes ring_input(std::span<const float> values, int rounds) {
  ByteWriter out;
  out.put_text("ring").put_list(values).put(rounds);
  return out.take();
}

std::vector<float> result_floats(const Bytes& result) {
  ByteReader in(result);
  return in.get_list<float>();
}

struct Outcome {
  Finding finding;
  std::vector<std::string> output;
  bool usable;
};

Outcome outcome_of(const std::string& what, int ranks, const PlayerLimits& given = limits()) {
  ProcessHost host = host_of(ranks, given);
  Core core(world(ranks));
  auto result = host.run(core, std::vector<Bytes>(static_cast<std::size_t>(ranks), input(what)));
  INFO("player told: " << what);
  REQUIRE(result.finding);
  INFO(result.finding->message);
  CHECK_FALSE(host.usable());
  return {*result.finding, result.output, host.usable()};
}

bool has_children() { return waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

}  // namespace

TEST_CASE("players pass values around a ring, case after case, in the same processes") {
  const int n = GENERATE(2, 3, 5, 8);
  ProcessHost host = host_of(8);
  for (int repeat = 0; repeat < 3; ++repeat) {
    Core core(world(n));
    std::vector<Bytes> inputs;
    float sum = 0;
    for (int rank = 0; rank < n; ++rank) {
      const std::vector<float> mine = {static_cast<float>(rank * rank + repeat), 1};
      sum += mine[0];
      inputs.push_back(ring_input(mine, n - 1));
    }
    const auto result = host.run(core, inputs);
    if (result.finding) FAIL(result.finding->message);
    for (const Bytes& of_rank : result.results) {
      CHECK(result_floats(of_rank) == std::vector<float>{sum, static_cast<float>(n)});
    }
    CHECK(core.counters().messages.size() == static_cast<std::size_t>(n * (n - 1)));
    CHECK(core.counters().depth >= n - 1);
    CHECK(host.usable());
  }
}

TEST_CASE("the same program gives the same trace in every run") {
  const auto hash = [] {
    ProcessHost host = host_of(4);
    Core core(world(4, 9));
    const std::vector<float> values = {1, 2, 3};
    host.run(core, std::vector<Bytes>(4, ring_input(values, 3)));
    return core.counters().trace_hash;
  };
  CHECK(hash() == hash());
}

TEST_CASE("two strands of one rank exchange at the same time") {
  ProcessHost host = host_of(2);
  for (int repeat = 0; repeat < 20; ++repeat) {
    Core core(world(2));
    const auto result = host.run(core, {input("two strands"), input("two strands")});
    if (result.finding) FAIL(result.finding->message);
    CHECK(result_floats(result.results[0]) == std::vector<float>{10, 11});
    CHECK(result_floats(result.results[1]) == std::vector<float>{0, 1});
  }
}

TEST_CASE("isend is answered at once, whatever the other players do") {
  const auto outcome = outcome_of("isend goes on", 2, brief_silence());
  CHECK(outcome.finding.ranks == std::vector<int>{0});  // which computes for ever
  CHECK(outcome.output[1] == "went on\n");
}

TEST_CASE("a peak has what a player made and freed, and not what an answer brought it") {
  if (limits().memory_bytes == 0) return;  // under a sanitizer
  struct Look final : Service {
    explicit Look(ProcessHost& looked_at) : host(looked_at) {}
    std::string_view name() const override { return "look"; }
    std::optional<Answer> serve(const Actor& who, const Request&, double now) override {
      peaks.push_back(host.take_peak_bytes(who.rank));
      const std::size_t bytes = peaks.size() == 4 ? 8 << 20 : 0;
      return Answer{payload_of(Bytes(bytes, std::byte{1})), now};
    }
    ProcessHost& host;
    std::vector<std::optional<std::int64_t>> peaks;
  };
  ProcessHost host = host_of(1);
  for (int repeat = 0; repeat < 2; ++repeat) {
    Look look(host);
    Options options = world(1);
    options.services = {&look};
    Core core(std::move(options));
    const auto result = host.run(core, {input("is looked at")});
    if (result.finding) FAIL(result.finding->message);
    REQUIRE(look.peaks.size() == 5);
    CHECK_FALSE(look.peaks[0]);  // there is nothing since when
    if (!look.peaks[1]) return;  // a system on which no mark can be forgotten
    const std::int64_t made = 8 << 20, slack = 1 << 20, rest = look.peaks[2].value();
    CHECK(rest < made);
    CHECK(std::abs(*look.peaks[1] - rest - made) < slack);
    CHECK(std::abs(look.peaks[3].value() - rest) < slack);
    CHECK(std::abs(look.peaks[4].value() - rest - made) < slack);
  }
}

TEST_CASE("a deadlock of four players is named with its cycle, at once") {
  ProcessHost host = host_of(4);
  Core core(world(4));
  const auto begin = std::chrono::steady_clock::now();
  const auto result = host.run(core, std::vector<Bytes>(4, input("deadlock")));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::cout << "deadlock of 4 players named after " << took.count() * 1e3 << " ms\n";
  REQUIRE(result.finding);
  CHECK(result.finding->kind == FindingKind::deadlock);
  CHECK(result.finding->ranks == std::vector<int>{0, 3, 2, 1});
  CHECK_THAT(result.finding->message, test::contains("rank 0 waits in recv from rank 3"));
}

TEST_CASE("strands that wait count when a deadlock is looked for") {
  const auto outcome = outcome_of("deadlock beside a strand", 2);
  CHECK(outcome.finding.kind == FindingKind::deadlock);
  CHECK_THAT(outcome.finding.message, test::contains("strand 's'"));
}

TEST_CASE("what strands of a player pass through a monitor arrives exactly once") {
  ProcessHost host = host_of(2);
  for (int repeat = 0; repeat < 3; ++repeat) {
    Core core(world(2));
    const auto result = host.run(core, {input("queue"), input("queue")});
    if (result.finding) FAIL(result.finding->message);
    for (const Bytes& bytes : result.results) {
      ByteReader in(bytes);
      CHECK(in.get_list<int>() == std::vector<int>(60, 1));
      CHECK(in.get<int>() <= 2);  // the longest queue
      CHECK(in.get<int>() == 1);  // inside
    }
  }
}

TEST_CASE("a strand that nobody notifies is a deadlock, at once") {
  const auto outcome = outcome_of("nobody notifies", 1);
  CHECK(outcome.finding.kind == FindingKind::deadlock);
  CHECK_THAT(outcome.finding.message,
             test::contains("waits in a monitor to be notified (tests/sim/test_player.cpp:"));
}

TEST_CASE(
    "what a strand threw is told to who waits for it, and a second join says that it is one") {
  CHECK_THAT(outcome_of("nobody notifies after a throw", 1).finding.message,
             test::contains("have ended; rank 0 had thrown: the disk is full"));
  CHECK_THAT(outcome_of("a strand throws", 1).finding.message,
             test::contains("rank 0 threw: ") && test::contains("this strand was joined before"));
}

TEST_CASE("each way to go wrong is found as what it is, and blames the rank that did it") {
  struct Expected {
    std::string what;
    FindingKind kind;
    std::string message;
  };
  const std::vector<Expected> all = {
      {"exit", FindingKind::rank_exited, "rank 2 called exit(0) before returning its result"},
      {"abort", FindingKind::crash, "SIGABRT"},
      {"segv", FindingKind::crash, LOCKSTEP_PLAYER_MEMORY_MIB > 0 ? "SIGSEGV" : "rank 2"},
      {"garbage", FindingKind::crash, "not a frame"},
      {"huge", FindingKind::crash, "length 4294967295"},
      {"huge result", FindingKind::crash, "a list is kept from call to call"},
      {"two results", FindingKind::crash, "after the result"},
      {"hundreds at once", FindingKind::unsolved, "after three hundred"},
      {"bad peer", FindingKind::crash, "peer 99"},
      {"close", FindingKind::crash, "closed its connection"},
      {"unsolved", FindingKind::unsolved, "ring_all_reduce is not written yet"},
      {"throw", FindingKind::crash, "rank 2 threw: narrow: rank 1 asks for ?[31m elements"},
      {"throw int", FindingKind::crash, "not a std::exception"},
      {"throw in strand", FindingKind::crash, "inside a strand"},
      {"throw past strand", FindingKind::crash, "past a strand"},
      {"throw past strand that ends", FindingKind::crash, "the strand has ended"},
      {"leave strand", FindingKind::crash, "its strand 'loader' is still running"},
      {"print", FindingKind::output, "rank 2 printed more than 65536 bytes"},
  };
  for (const auto& expected : all) {
    if (expected.what == "segv" && LOCKSTEP_PLAYER_MEMORY_MIB == 0) continue;  // ASan exits instead
    const auto outcome = outcome_of(expected.what, 3);
    INFO(expected.what << ": " << outcome.finding.message);
    CHECK(outcome.finding.kind == expected.kind);
    CHECK_THAT(outcome.finding.message, test::contains(expected.message));
    CHECK(outcome.finding.ranks == std::vector<int>{2});
  }
}

TEST_CASE("of ranks that fail side by side the lowest is named, whichever was heard first") {
  for (const char* what : {"throw", "exit", "abort", "garbage", "close", "print", "loop"}) {
    std::string first;
    for (int repeat = 0; repeat < 3; ++repeat) {
      // Of those that fail, each has long enough to do so.
      const bool silent = std::string(what) == "loop";
      const auto outcome = outcome_of(text("all ", what), 4, silent ? brief_silence() : limits());
      INFO(what << ": " << outcome.finding.message);
      CHECK(outcome.finding.ranks == std::vector<int>{0});
      if (first.empty()) first = outcome.finding.message;
      CHECK(outcome.finding.message == first);
    }
  }
}

TEST_CASE("a rank that is silent is named before those that fail beside it") {
  ProcessHost host = host_of(3, brief_silence());
  Core core(world(3));
  const auto result = host.run(core, {input("all throw"), input("all loop"), input("all throw")});
  REQUIRE(result.finding);
  CHECK(result.finding->ranks == std::vector<int>{1});
  CHECK(result.finding->kind == FindingKind::time);
}

TEST_CASE("the limit of requests names the same rank each time, whichever asked first") {
  for (int repeat = 0; repeat < 5; ++repeat) {
    ProcessHost host = host_of(3);
    Options options = world(3);
    options.limits.requests_max = 1000;
    Core core(options);
    const auto result = host.run(core, std::vector<Bytes>(3, input("all poll")));
    REQUIRE(result.finding);
    CHECK(result.finding->kind == FindingKind::traffic_limit);
    CHECK(result.finding->ranks == std::vector<int>{core.order()[1000 % 3]});
  }
}

TEST_CASE("a buffer changed while it is being sent is found across processes") {
  const auto outcome = outcome_of("in flight", 2);
  CHECK(outcome.finding.kind == FindingKind::in_flight);
}

TEST_CASE("an endless loop is found as time, by silence or by processor time") {
  const auto silent = outcome_of("loop", 2, brief_silence());
  CHECK(silent.finding.kind == FindingKind::time);
  CHECK_THAT(silent.finding.message, test::contains("an endless loop, or one whose work"));
  CHECK(silent.finding.ranks == std::vector<int>{1});

  PlayerLimits short_cpu = limits();
  short_cpu.idle_s = 60;
  short_cpu.cpu_s = 1;
  const auto spent = outcome_of("loop", 2, short_cpu);
  CHECK(spent.finding.kind == FindingKind::time);
  CHECK_THAT(spent.finding.message, test::contains("processor time"));
}

TEST_CASE("polling without end runs into the limit of requests") {
  ProcessHost host = host_of(1);
  Options options = world(1);
  options.limits.requests_max = 1000;
  Core core(options);
  const auto result = host.run(core, {input("poll")});
  REQUIRE(result.finding);
  CHECK(result.finding->kind == FindingKind::traffic_limit);
}

TEST_CASE("asking for more memory than allowed is found as memory") {
  if (LOCKSTEP_PLAYER_MEMORY_MIB == 0) return;  // a sanitizer needs all of the address space
  const auto outcome = outcome_of("bad_alloc", 2);
  CHECK(outcome.finding.kind == FindingKind::memory);
}

TEST_CASE("a thread that is no strand is named, in every run, whichever thread is faster") {
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto* what = repeat % 2 == 0 ? "foreign thread" : "foreign thread at work while it waits";
    const auto outcome = outcome_of(what, 2);
    CHECK(outcome.finding.kind == FindingKind::crash);
    CHECK_THAT(outcome.finding.message, test::contains("rank 1 calls send, work/ring.cpp") &&
                                            test::contains("on a std::thread of its own"));
  }
}

TEST_CASE("a rank that gives up counts as gone for those who wait for it, and its result counts") {
  ProcessHost host = host_of(2);
  for (int repeat = 0; repeat < 2; ++repeat) {
    auto options = world(4);
    options.faults.kills.push_back({.rank = 3, .at_call = 1});
    Core core(std::move(options));
    const auto result = host.run(core, std::vector<Bytes>(4, input("waits for the next")));
    if (result.finding) FAIL(result.finding->message);
    CHECK(result.results[3].empty());
    CHECK(result.killed == std::vector<int>{3});
    const auto told = [&](std::size_t rank) { return ByteReader(result.results[rank]).get_text(); };
    CHECK_THAT(told(2), test::contains("rank 3 was killed by a fault at its call number 1"));
    CHECK_THAT(told(1), test::contains("rank 2 gave up: rank 3 was killed"));
    CHECK_THAT(told(0), test::contains("rank 1 gave up: rank 2 gave up"));
    CHECK(host.usable());  // the player of rank 3 is another one in the next case
  }
}

TEST_CASE("a host starts more players when a case has more ranks") {
  ProcessHost host = host_of(2);
  for (const int ranks : {1, 5, 2}) {
    Core core(world(ranks));
    const auto result =
        host.run(core, std::vector<Bytes>(static_cast<std::size_t>(ranks), input("hello")));
    CHECK_FALSE(result.finding);
    CHECK(result.output.size() == static_cast<std::size_t>(ranks));
  }
}

TEST_CASE("what ranks print is kept, by rank") {
  ProcessHost host = host_of(3);
  Core core(world(3));
  const auto result = host.run(core, std::vector<Bytes>(3, input("hello")));
  CHECK_FALSE(result.finding);
  REQUIRE(result.output.size() == 3);
  CHECK(result.output[2] == "hello from rank 2\n");
}

TEST_CASE("a player has an empty environment and four open files") {
  ProcessHost host = host_of(1);
  Core core(world(1));
  const auto result = host.run(core, {input("environment")});
  if (result.finding) FAIL(result.finding->message);
  ByteReader in(result.results[0]);
  CHECK(in.get<int>() == 0);
  CHECK(in.get<int>() == 4);
}

TEST_CASE("no process is left behind") {
  {
    ProcessHost idle = host_of(3);
    CHECK(has_children());
  }
  CHECK_FALSE(has_children());
  outcome_of("exit", 2);
  CHECK_FALSE(has_children());
}

TEST_CASE("a program that cannot be started is an error that names it") {
  CHECK_THROWS_WITH(ProcessHost({"/nowhere/player"}, 2, limits()),
                    test::contains("/nowhere/player"));
  CHECK_FALSE(has_children());
}

TEST_CASE("a million elements around four ranks are quick") {
  ProcessHost host = host_of(4);
  Core core(world(4));
  const std::vector<float> values(250'000, 1);  // a chunk: a quarter of a million elements
  const std::vector<Bytes> inputs(4, ring_input(values, 6));
  const auto begin = std::chrono::steady_clock::now();
  const auto result = host.run(core, inputs);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::cout << "6 steps of 1 MB on 4 ranks took " << took.count() * 1e3 << " ms\n";
  CHECK_FALSE(result.finding);
  CHECK(core.counters().ranks[0].bytes_sent == 6'000'000);
}
