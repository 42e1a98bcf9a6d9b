// Faults: what strikes, when, and what the others see of it.
#include "engine/sim/model/faults.hpp"

#include <set>

#include "engine/comm/worlds/sim/sim_group.hpp"
#include "engine/sim/hosts/fiber_host.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::comm;

namespace {

struct Rank {
  ProcessGroup& group;
  Device& device;
  sim::Port& port;
  int rank() const { return group.rank(); }
  Tensor ones(std::int64_t count = 1) const { return full({count}, 1, DType::float32, device); }
  void compute(double seconds) const { port.compute(seconds); }
  double now_s() const { return port.now_s(); }
};

struct Ran {
  std::optional<sim::Finding> finding;
  std::vector<std::string> failures;
  sim::Counters counters;
};

Ran run(int ranks, const sim::Faults& faults, const std::function<void(Rank&)>& program,
        std::uint64_t seed = 0, int ranks_per_node = 0) {
  sim::Options options;
  options.ranks = ranks;
  options.faults = faults;
  options.seed = seed;
  options.network.ranks_per_node = ranks_per_node;
  sim::Core core(options);
  const auto result = sim::run_fibers(core, [&](sim::FiberRank& self) {
    CpuDevice device;
    const auto group = make_sim_group(self.port, self.rank, self.ranks);
    Rank rank{*group, device, self.port};
    program(rank);
  });
  return {result.finding, result.failures, core.counters()};
}

sim::Faults faults_of(std::initializer_list<const char*> words) {
  sim::Faults faults;
  for (const char* one : words) sim::add_fault(faults, one);
  return faults;
}

// Every rank computes a second and passes a number on, `turns` times.
void turn_ring(Rank& self, int turns) {
  const int n = self.group.size();
  for (int turn = 0; turn < turns; ++turn) {
    self.compute(1);
    const Tensor mine = self.ones(), theirs = self.ones();
    Work sending = self.group.isend(mine, (self.rank() + 1) % n);
    self.group.recv(theirs, (self.rank() + n - 1) % n);
    sending.wait();
  }
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const CommError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("faults: a rank that dies at a call is named, with the call, and so is who needed it") {
  const Ran ran = run(3, faults_of({"kill:1@step:3"}), [](Rank& self) { turn_ring(self, 4); });
  REQUIRE(ran.finding);
  CHECK(ran.finding->kind == sim::FindingKind::rank_exited);
  CHECK(ran.finding->ranks == std::vector<int>{1});
  CHECK_THAT(ran.finding->message,
             test::contains("rank 1 was killed by a fault at its call number 3, wait (tests/sim/"));
  CHECK_THAT(ran.finding->message, test::contains("and rank 0 could not continue"));
}

TEST_CASE("faults: a rank dies at a moment of virtual time, also while it waits or computes") {
  const Ran ran = run(4, faults_of({"kill:2@2500ms"}), [](Rank& self) { turn_ring(self, 5); });
  REQUIRE(ran.finding);
  CHECK_THAT(ran.finding->message, test::contains("rank 2 was killed by a fault at 2.5 s"));
  CHECK(ran.counters.ranks[2].clock_s == 2.5);
  const Ran waiting = run(2, faults_of({"kill:1@1"}), [](Rank& self) {
    if (self.rank() == 1) self.group.recv(self.ones(), 0);
    if (self.rank() == 0) self.compute(3);
    if (self.rank() == 0) {
      CHECK(error_of([&] { self.group.send(self.ones(), 1); }) ==
            "rank 1 was killed by a fault at 1 s");
      CHECK(self.now_s() == 3);
    }
  });
  CHECK_FALSE(waiting.finding);
  CHECK(waiting.counters.ranks[1].clock_s == 1);
}

TEST_CASE("faults: who waits for a dead rank is told at the moment of its death, and may go on") {
  std::vector<double> told(4);
  const Ran ran = run(4, faults_of({"kill:3@2"}), [&](Rank& self) {
    if (self.rank() == 3) self.compute(10);
    const std::string error = error_of([&] { self.group.barrier(); });
    CHECK(error == "rank 3 was killed by a fault at 2 s");
    told[static_cast<std::size_t>(self.rank())] = self.now_s();
    // The three that are left still reach each other.
    const int next = (self.rank() + 1) % 3;
    Work sending = self.group.isend(self.ones(), next);
    self.group.recv(self.ones(), (self.rank() + 2) % 3);
    sending.wait();
  });
  if (ran.finding) FAIL(ran.finding->message);
  CHECK(told == std::vector<double>{2, 2, 2, 0});
}

TEST_CASE("faults: a message that would arrive after its receiver's death does not take place") {
  const auto program = [](Rank& self) {
    if (self.rank() == 0) {
      Work sending = self.group.isend(self.ones(1'000'000), 1);  // takes 0.4 ms
      CHECK(error_of([&] { sending.wait(); }) == "rank 1 was killed by a fault at 200 µs");
    } else {
      self.group.recv(self.ones(1'000'000), 0);
      FAIL("it was dead by then");
    }
  };
  const Ran ran = run(2, faults_of({"kill:1@200us"}), program);
  CHECK_FALSE(ran.finding);
  CHECK(ran.counters.ranks[1].messages_received == 0);
}

TEST_CASE(
    "faults: a slow rank computes longer, a slow link carries longer, and nothing else does") {
  const auto seconds = [](const sim::Faults& faults) {
    const Ran ran = run(4, faults, [](Rank& self) {
      self.compute(1);
      if (self.rank() == 0) self.group.send(self.ones(1'000'000), 1);
      if (self.rank() == 1) self.group.recv(self.ones(1'000'000), 0);
      if (self.rank() == 2) self.group.send(self.ones(1'000'000), 3);
      if (self.rank() == 3) self.group.recv(self.ones(1'000'000), 2);
    });
    CHECK_FALSE(ran.finding);
    std::vector<double> clocks;
    for (const auto& rank : ran.counters.ranks) clocks.push_back(rank.clock_s);
    return clocks;
  };
  const auto plain = seconds({});
  sim::Faults slow_rank;
  sim::add_slow(slow_rank, "2:3");
  const auto with_slow_rank = seconds(slow_rank);
  CHECK(with_slow_rank[0] == plain[0]);
  CHECK(with_slow_rank[3] == Approx(plain[3] + 2));
  const auto with_slow_link = seconds(faults_of({"link:0-1:slow:5"}));
  CHECK(with_slow_link[1] - 1 == Approx(5 * (plain[1] - 1)));
  CHECK(with_slow_link[3] == plain[3]);
}

TEST_CASE("faults: a native collective takes as long as the slowest link among its ranks") {
  const auto seconds = [](const sim::Faults& faults) {
    return run(
               4, faults, [](Rank& self) { self.group.all_reduce(self.ones(1000), ReduceOp::sum); },
               0, 2)
        .counters.makespan_s;
  };
  CHECK(seconds(faults_of({"link:node0-node1:slow:7"})) == Approx(7 * seconds({})));
}

TEST_CASE("faults: a cut link is named by both sides, with what each of them wanted") {
  const auto program = [](Rank& self) {
    if (self.rank() == 0) self.group.send(self.ones(), 1);
    if (self.rank() == 1) self.group.recv(self.ones(), 0);
  };
  constexpr std::uint64_t rank_1_first = 3;  // who gives up first ends the others
  const Ran ran = run(3, faults_of({"link:0-1:cut"}), program, rank_1_first);
  REQUIRE(ran.finding);
  CHECK_THAT(ran.finding->message,
             test::contains("the link between rank 0 and rank 1 is cut by a fault, so rank 0's "
                            "send to rank 1 (tests/sim/faults_test.cpp:"));
  CHECK_THAT(ran.failures[1], test::contains("rank 1's recv from rank 0 (tests/sim/faults_test."));
  const Ran nodes = run(
      4, faults_of({"link:node0-node1:cut"}), [](Rank& self) { self.group.barrier(); }, 0, 2);
  REQUIRE(nodes.finding);
  CHECK_THAT(nodes.finding->message,
             test::contains("the link between node 0 and node 1 is cut by a fault, so barrier"));
}

TEST_CASE("faults: jitter varies each latency by the seed, and makes nothing faster") {
  sim::Faults jitter;
  jitter.jitter = 0.5;
  const auto seconds = [](const sim::Faults& faults, std::uint64_t seed) {
    return run(
               8, faults, [](Rank& self) { turn_ring(self, 3); }, seed)
        .counters.makespan_s;
  };
  const double plain = seconds({}, 1);
  std::set<double> different;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const double varied = seconds(jitter, seed);
    CHECK(varied == seconds(jitter, seed));
    CHECK(varied > plain);
    CHECK(varied - 3 < 1.5 * (plain - 3));
    different.insert(varied);
  }
  CHECK(different.size() == 10);
}

TEST_CASE(
    "faults: a run with a fault is the same again, and its sentence is that of any schedule") {
  for (const char* words :
       {"kill:3@1700ms", "kill:0@step:5", "kill:1@call:5", "kill:2@0", "link:1-2:cut"}) {
    std::set<std::string> sentences;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto once = [&] {
        return run(
            5, faults_of({words}), [](Rank& self) { turn_ring(self, 6); }, seed);
      };
      const Ran ran = once(), again = once();
      REQUIRE(ran.finding);
      CHECK(ran.finding->message == again.finding->message);
      CHECK(ran.counters.trace_hash == again.counters.trace_hash);
      // Which of the others is the first to give up may depend on the schedule.
      const std::string& message = ran.finding->message;
      sentences.insert(message.substr(0, message.find(", and rank")));
    }
    INFO(words);
    CHECK(sentences.size() == 1);
  }
}

TEST_CASE("faults: words that make no sense are refused with what is expected") {
  for (const char* words :
       {"kill:x@1", "kill:1", "kill:1@", "kill:1@step:0", "kill:1@call:", "kill:1@-1", "link:0-1",
        "link:0-1:slow:", "link:node0-1:cut", "burn:1", ""}) {
    INFO(words);
    CHECK_THROWS_WITH(faults_of({words}), test::contains("expected kill:RANK@TIME"));
  }
  sim::Faults slow;
  CHECK_THROWS_WITH(sim::add_slow(slow, "3"), test::contains("expected RANK:FACTOR"));
  const auto refused = [](const sim::Faults& faults) {
    CHECK_THROWS_AS(sim::check_faults(faults, 4, {}), UsageError);
  };
  refused(faults_of({"kill:4@1"}));
  refused(faults_of({"link:0-0:cut"}));
  refused(faults_of({"link:node0-node1:cut"}));
  refused(faults_of({"link:0-1:slow:-2"}));
}
