// Ranks as fibers of this thread: order, failures, strands, and the watchdog.
#include "engine/sim/hosts/fiber_host.hpp"

#include <atomic>
#include <set>

#include "engine/sim/core/services.hpp"
#include "tests/catch.hpp"
#include "tests/sim/scripted.hpp"
#include "tests/strand/monitor_cases.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

// Every rank passes a token round the ring `turns` times.
void pass_round(FiberRank& self, int turns) {
  const int right = (self.rank + 1) % self.ranks, left = (self.rank + self.ranks - 1) % self.ranks;
  for (int turn = 0; turn < turns; ++turn) {
    const auto sent = self.port.call(message(Op::isend, right, 3, 7));
    const auto got = self.port.call(message(Op::recv, left, 3, 8));
    CHECK(floats_of(got.data) == std::vector<float>(3, 1.0f));
    const auto buffer = floats({1, 1, 1});
    self.port.call(wait_for(sent.handle, buffer));
  }
}

struct Ran {
  FiberResult result;
  Counters counters;
};

Ran run_on_fibers(int ranks, const std::function<void(FiberRank&)>& program,
                  std::uint64_t seed = 0) {
  Core core(world(ranks, seed));
  auto result = run_fibers(core, program);
  return {std::move(result), core.counters()};
}

}  // namespace

TEST_CASE("fiber host: a ring turns on a thousand ranks, and every message is counted") {
  const int n = GENERATE(2, 3, 8, 1000);
  const auto ran = run_on_fibers(n, [](FiberRank& self) { pass_round(self, 3); });
  CHECK_FALSE(ran.result.finding);
  CHECK(ran.counters.messages.size() == static_cast<std::size_t>(3 * n));
  CHECK(ran.counters.depth == 3);
}

TEST_CASE("fiber host: the same seed gives the same run, another one another order of ranks") {
  std::set<std::vector<int>> orders;
  std::set<double> times;
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    std::vector<int> order[2];
    std::uint64_t hashes[2];
    for (int again = 0; again < 2; ++again) {
      const auto ran = run_on_fibers(
          8,
          [&](FiberRank& self) {
            order[again].push_back(self.rank);
            pass_round(self, 2);
            order[again].push_back(self.rank);
          },
          seed);
      hashes[again] = ran.counters.trace_hash;
      times.insert(ran.counters.makespan_s);
    }
    CHECK(order[0] == order[1]);
    CHECK(hashes[0] == hashes[1]);
    orders.insert(order[0]);
  }
  CHECK(orders.size() == 4);
  CHECK(times.size() == 1);  // of virtual time nothing depends on the seed
}

TEST_CASE("fiber host: what a rank throws is its failure, and the others end with the reason") {
  int ended = 0;
  const auto ran = run_on_fibers(4, [&](FiberRank& self) {
    struct AtTheEnd {
      int& count;
      ~AtTheEnd() { ++count; }
    } at_the_end{ended};
    self.port.call(collective(Collective::barrier, {}));
    if (self.rank == 2) throw Error("out of ideas");
    const auto reply = self.port.call(message(Op::recv, 2, 1));
    if (reply.status != Status::ok) throw Error(reply.error);
  });
  REQUIRE(ran.result.finding);
  CHECK(ran.result.finding->kind == FindingKind::crash);
  CHECK(ran.result.finding->message == "rank 2 threw: out of ideas");
  CHECK(ran.result.finding->ranks == std::vector<int>{2});
  CHECK(ended == 4);
  for (const auto& failure : ran.result.failures) {
    CHECK_THAT(failure, test::contains("out of ideas"));
  }
}

TEST_CASE("fiber host: a stub that is not written is unsolved, whatever the others do") {
  const auto ran = run_on_fibers(3, [](FiberRank& self) {
    if (self.rank == 0) throw NotImplemented("ring_all_reduce");
    self.port.call(message(Op::recv, 0, 1));
  });
  REQUIRE(ran.result.finding);
  CHECK(ran.result.finding->kind == FindingKind::unsolved);
}

TEST_CASE("fiber host: a deadlock is found at once, and what is blocked is unwound") {
  int ended = 0;
  const auto ran = run_on_fibers(1000, [&](FiberRank& self) {
    const auto reply = self.port.call(message(Op::recv, (self.rank + 999) % 1000, 1, 9));
    CHECK(reply.status == Status::failed);
    ++ended;
  });
  REQUIRE(ran.result.finding);
  CHECK(ran.result.finding->kind == FindingKind::deadlock);
  CHECK(ran.result.finding->ranks.size() == 1000);
  CHECK(ended == 1000);
}

TEST_CASE("fiber host: a request that makes no sense comes back to the rank that made it") {
  const auto ran = run_on_fibers(2, [](FiberRank& self) {
    CHECK_THROWS_WITH(self.port.call(message(Op::recv, 5, 1)), test::contains("peer 5 of 2"));
    pass_round(self, 1);
  });
  CHECK_FALSE(ran.result.finding);
}

TEST_CASE("fiber host: strands of a rank wait for messages side by side, and join rethrows") {
  const auto ran = run_on_fibers(2, [](FiberRank& self) {
    const int peer = 1 - self.rank;
    std::vector<int> order;
    const auto receive = [&](int tag) {
      return [&, tag] {
        self.port.call(message(Op::recv, peer, 1, 5, tag));
        order.push_back(tag);
      };
    };
    const auto first = self.strands.start("first", receive(1));
    const auto second = self.strands.start("second", receive(2));
    const auto bad = self.strands.start("bad", [] { throw Error("from inside"); });
    for (const int tag : {2, 1}) {
      const auto sent = self.port.call(message(Op::isend, peer, 1, 6, tag));
      self.port.call(wait_for(sent.handle, floats({1})));
    }
    first->join();
    second->join();
    CHECK_THROWS_WITH(bad->join(), "from inside");
    CHECK(order == std::vector<int>{2, 1});
    auto dropped = self.strands.start("dropped", [&] { order.clear(); });
    dropped = nullptr;
    CHECK(order.empty());
  });
  if (ran.result.finding) FAIL(ran.result.finding->message);
}

TEST_CASE(
    "fiber host: who waits for a strand that threw is told what, and so is who joins it again") {
  const auto ran = run_on_fibers(2, [](FiberRank& self) {
    auto bad = self.strands.start("bad", [] { throw Error("the disk is full"); });
    CHECK_THROWS_WITH(bad->join(), "the disk is full");
    CHECK_THROWS_WITH(bad->join(), test::contains("this strand was joined before"));
    const auto monitor = self.strands.make_monitor();
    const std::scoped_lock inside(*monitor);
    monitor->wait([] { return false; });
  });
  REQUIRE(ran.result.finding);
  CHECK_THAT(ran.result.finding->message,
             test::contains("all other strands of this rank have ended; "
                            "rank 0 had thrown: the disk is full"));
}

TEST_CASE("fiber host: an exception waits for strands, but not for one that never ends") {
  const auto ran = run_on_fibers(2, [](FiberRank& self) {
    if (self.rank == 1) {
      const auto sent = self.port.call(message(Op::isend, 0, 1, 6, 3));
      self.port.call(wait_for(sent.handle, floats({1})));
      return;
    }
    for (const int tag : {3, 4}) {
      bool ended = false;
      try {
        const auto strand = self.strands.start(text("receives ", tag), [&] {
          self.port.call(message(Op::recv, 1, 1, 5, tag));
          ended = true;
        });
        throw Error("past a strand");
      } catch (const Error&) {
        CHECK(ended == (tag == 3));
      }
    }
  });
  REQUIRE(ran.result.finding);
  CHECK_THAT(ran.result.finding->message, test::contains("'receives 4' is still running"));
}

TEST_CASE("fiber host: a rank that returns while a strand of it runs is told which") {
  std::vector<std::unique_ptr<Strand>> kept;
  const auto ran = run_on_fibers(2, [&](FiberRank& self) {
    kept.push_back(self.strands.start(
        "left behind", [&] { self.port.call(message(Op::recv, 1 - self.rank, 1)); }));
  });
  REQUIRE(ran.result.finding);
  CHECK_THAT(ran.result.finding->message,
             test::contains("its strand 'left behind' is still running"));
  kept.clear();  // their host is gone, which they know
}

TEST_CASE("fiber host: what strands pass through a monitor arrives exactly once") {
  const int sides = GENERATE(1, 2, 4);
  const auto ran = run_on_fibers(3, [&](FiberRank& self) {
    Request pause = request_of(Op::compute, 1);
    pause.seconds = 1e-6;
    const auto seen =
        pass_through_queue(self.strands, sides, 20, 3, [&] { self.port.call(pause); });
    CHECK(seen.times == std::vector<int>(static_cast<std::size_t>(sides * 20), 1));
    CHECK(seen.longest <= 3);
    CHECK(seen.inside_most == 1);
  });
  if (ran.result.finding) FAIL(ran.result.finding->message);
}

TEST_CASE("fiber host: who notifies, waits or enters a monitor from the wrong side is told so") {
  const auto ran = run_on_fibers(1, [&](FiberRank& self) {
    const auto monitor = self.strands.make_monitor();
    CHECK_THROWS_AS(monitor->notify_all(), ContractError);
    CHECK_THROWS_AS(monitor->wait([] { return false; }), ContractError);
    const std::scoped_lock inside(*monitor);
    CHECK_THROWS_AS(monitor->lock(), ContractError);
    monitor->notify_all();
  });
  if (ran.result.finding) FAIL(ran.result.finding->message);
}

TEST_CASE("fiber host: services answer fibers in the order of virtual time") {
  EventService events("gradients", {{{0.2, {}}}, {{0.1, {}}}});
  auto options = world(2);
  options.services = {&events};
  Core core(options);
  std::vector<int> order;
  const auto result = run_fibers(core, [&](FiberRank& self) {
    Request request = request_of(Op::service, 1);
    request.name = "gradients";
    self.port.call(request);
    order.push_back(self.rank);
  });
  CHECK_FALSE(result.finding);
  CHECK(order == std::vector<int>{1, 0});
}

TEST_CASE("fiber host: an endless loop is named by the watchdog") {
  Core core(world(3));
  std::atomic<bool> told = false;
  Finding idle;
  FiberOptions options;
  options.idle_s = 1;  // which no other rank takes, on a busy machine either
  options.on_idle = [&](const Finding& finding) {
    idle = finding;
    told = true;
  };
  const auto result = run_fibers(
      core,
      [&](FiberRank& self) {
        self.port.call(collective(Collective::barrier, {}));
        while (self.rank == 1 && !told) {
        }
      },
      options);
  CHECK(idle.kind == FindingKind::time);
  CHECK_THAT(
      idle.message,
      test::contains("rank 1 ran for more than 1 s since its call at work/ring.cpp:1 without"));
}
