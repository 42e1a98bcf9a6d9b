#include "tests/catch.hpp"
#include "tests/sim/scripted.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

// Every rank passes its number around a ring once, even ranks sending first.
std::vector<Script> ring_scripts(int n) {
  std::vector<Script> scripts;
  for (int rank = 0; rank < n; ++rank) {
    Request send = message(Op::send, (rank + 1) % n, 1);
    send.data = floats({static_cast<float>(rank)});
    const Request recv = message(Op::recv, (rank + n - 1) % n, 1);
    scripts.push_back(rank % 2 == 0 ? list({send, recv}) : list({recv, send}));
  }
  return scripts;
}

}  // namespace

TEST_CASE("a message carries its sender's bytes") {
  const int n = GENERATE(2, 3, 4, 5, 7, 8);
  Core core(world(n));
  const auto replies = run(core, ring_scripts(n));
  REQUIRE(core.finished());
  REQUIRE_FALSE(core.finding());
  for (int rank = 0; rank < n; ++rank) {
    const auto& got = replies[static_cast<std::size_t>(rank)][rank % 2 == 0 ? 1 : 0];
    CHECK(floats_of(got.data) == std::vector<float>{static_cast<float>((rank + n - 1) % n)});
  }
  CHECK(core.counters().messages.size() == static_cast<std::size_t>(n));
  for (const auto& rank : core.counters().ranks) {
    CHECK(rank.bytes_sent == 4);
    CHECK(rank.bytes_received == 4);
    CHECK(rank.messages_sent == 1);
  }
}

TEST_CASE("messages of one channel arrive in order, and tags are channels of their own") {
  Core core(world(2));
  std::vector<Request> sends, receives;
  for (int i = 0; i < 4; ++i) {
    sends.push_back(message(Op::isend, 1, 1, 1, i % 2));
    sends.back().data = floats({static_cast<float>(i)});
  }
  for (const int tag : {1, 1, 0, 0}) receives.push_back(message(Op::recv, 0, 1, 2, tag));
  const auto sender = [&](const std::vector<Reply>& replies) -> std::optional<Request> {
    if (replies.size() < 4) return sends[replies.size()];
    const std::size_t waited = replies.size() - 4;
    if (waited == 4) return std::nullopt;
    return wait_for(replies[waited].handle, sends[waited].data);
  };
  const auto replies = run(core, {sender, list(receives)});
  CHECK_FALSE(core.finding());
  std::vector<float> got;
  for (const auto& reply : replies[1]) got.push_back(floats_of(reply.data).at(0));
  CHECK(got == std::vector<float>{1, 3, 0, 2});
}

TEST_CASE("send is a rendezvous: it returns when the receive is posted") {
  Options options = world(2);
  options.network = {.latency_s = 1, .gap_s = 2, .bandwidth_bytes_s = 4};
  Core core(options);
  Request busy = request_of(Op::compute, 1);
  busy.seconds = 10;
  const auto replies =
      run(core, {list({message(Op::send, 1, 3)}), list({busy, message(Op::recv, 0, 3)})});
  CHECK(replies[0][0].now == Approx(10 + 2 + 3));      // gap and 12 bytes at 4 bytes a second
  CHECK(replies[1][1].now == Approx(10 + 2 + 3 + 1));  // and the latency
  CHECK(core.counters().makespan_s == Approx(16));
}

TEST_CASE("messages of one rank queue at its port, in program order") {
  Options options = world(3);
  options.network = {.latency_s = 0, .gap_s = 1, .bandwidth_bytes_s = 4};
  Core core(options);
  const Request to_2 = message(Op::isend, 2, 1), to_1 = message(Op::isend, 1, 1);
  const auto sender = [&](const std::vector<Reply>& replies) -> std::optional<Request> {
    switch (replies.size()) {
      case 0:
        return to_2;
      case 1:
        return to_1;
      case 2:
        return wait_for(replies[0].handle, to_2.data);
      case 3:
        return wait_for(replies[1].handle, to_1.data);
      default:
        return std::nullopt;
    }
  };
  const auto replies =
      run(core, {sender, list({message(Op::recv, 0, 1)}), list({message(Op::recv, 0, 1)})});
  CHECK(replies[2][0].now == Approx(2));
  CHECK(replies[1][0].now == Approx(4));
}

TEST_CASE("depth is the longest causal chain: a star has 1, a chain N-1, a binomial tree log2 N") {
  const int n = 8;
  std::vector<Request> hub;
  std::vector<Script> star, chain, tree;
  for (int rank = 1; rank < n; ++rank) hub.push_back(message(Op::send, rank, 1));
  for (int rank = 0; rank < n; ++rank) {
    star.push_back(rank == 0 ? list(hub) : list({message(Op::recv, 0, 1)}));
    std::vector<Request> link, branch;
    if (rank > 0) link.push_back(message(Op::recv, rank - 1, 1));
    if (rank + 1 < n) link.push_back(message(Op::send, rank + 1, 1));
    chain.push_back(list(link));
    for (int bit = n / 2; bit > 0; bit /= 2) {
      if (rank % (2 * bit) == 0) branch.push_back(message(Op::send, rank + bit, 1));
      if (rank % (2 * bit) == bit) branch.push_back(message(Op::recv, rank - bit, 1));
    }
    tree.push_back(list(branch));
  }
  Core one(world(n)), two(world(n)), three(world(n));
  run(one, star);
  run(two, chain);
  run(three, tree);
  CHECK(one.counters().depth == 1);
  CHECK(one.counters().ranks[0].messages_sent == n - 1);
  CHECK(two.counters().depth == n - 1);
  CHECK(three.counters().depth == 3);
  CHECK(three.counters().ranks[0].messages_sent == 3);
}

TEST_CASE("a native all-reduce sums in rank order and leaves every rank at the same time") {
  const int n = GENERATE(1, 2, 3, 4, 5, 7, 8);
  Options options = world(n);
  options.network = {.latency_s = 3, .gap_s = 1, .bandwidth_bytes_s = 4};
  Core core(options);
  std::vector<Script> scripts;
  float expected = 0;
  for (int rank = 0; rank < n; ++rank) {
    const float mine = static_cast<float>(rank) + 0.1f;
    expected = rank == 0 ? mine : expected + mine;
    scripts.push_back(list({collective(Collective::all_reduce, {mine, 1})}));
  }
  const auto replies = run(core, scripts);
  REQUIRE_FALSE(core.finding());
  for (const auto& of_rank : replies) {
    CHECK(floats_of(of_rank[0].data) == std::vector<float>{expected, static_cast<float>(n)});
    CHECK(of_rank[0].now == Approx(2 * (n - 1) * (3 + 1 + 8.0 / n / 4)));
  }
  CHECK(core.counters().collectives.size() == 1);
  CHECK(core.counters().ranks[0].collective_bytes == 8);
  CHECK(core.counters().by_collectives == SentBytes{n * (2 * (n - 1) * 8 / n), 0});
  CHECK(core.counters().depth == 0);
}

TEST_CASE("broadcast, all_gather and barrier do what their names say") {
  const int n = GENERATE(1, 2, 3, 5, 8);
  Core core(world(n));
  std::vector<Script> scripts;
  std::vector<float> everyone;
  for (int rank = 0; rank < n; ++rank) {
    everyone.push_back(static_cast<float>(rank * rank));
    Request listen = collective(Collective::broadcast, {static_cast<float>(rank)}, 1, n - 1);
    if (rank != n - 1) listen.data = {};
    scripts.push_back(list({listen, collective(Collective::all_gather, {everyone.back()}),
                            collective(Collective::barrier, {})}));
  }
  const auto replies = run(core, scripts);
  REQUIRE_FALSE(core.finding());
  for (const auto& of_rank : replies) {
    CHECK(floats_of(of_rank[0].data) == std::vector<float>{static_cast<float>(n - 1)});
    CHECK(floats_of(of_rank[1].data) == everyone);
    CHECK(of_rank[2].data.bytes.empty());
  }
}

TEST_CASE("split makes groups ordered by key, in which peers are group ranks") {
  Core core(world(4));
  std::vector<Script> scripts;
  for (int rank = 0; rank < 4; ++rank) {
    // Ranks 3 and 1 in this order, ranks 0 and 2 nowhere.
    Request split = request_of(Op::split, 1);
    split.color = rank % 2 == 1 ? 0 : -1;
    split.key = -rank;
    scripts.push_back([rank, split](const std::vector<Reply>& replies) -> std::optional<Request> {
      if (replies.empty()) return split;
      if (replies.size() > 1 || rank % 2 == 0) return std::nullopt;
      Request next = message(rank == 3 ? Op::send : Op::recv, 1 - replies[0].rank, 2);
      next.group = replies[0].group;
      return next;
    });
  }
  const auto replies = run(core, scripts);
  REQUIRE_FALSE(core.finding());
  CHECK(replies[0][0].rank == -1);
  CHECK(replies[3][0].rank == 0);
  CHECK(replies[1][0].rank == 1);
  CHECK(replies[1][0].size == 2);
  REQUIRE(core.counters().messages.size() == 1);
  CHECK(core.counters().messages[0].src == 3);
  CHECK(core.counters().messages[0].dst == 1);
}

TEST_CASE("the same seed gives the same trace, and another seed the same results") {
  const auto trace = [](std::uint64_t seed) {
    Core core(world(5, seed));
    const auto replies = run(core, ring_scripts(5));
    std::vector<float> values;
    for (const auto& of_rank : replies) {
      for (const auto& reply : of_rank) {
        for (const float value : floats_of(reply.data)) values.push_back(value);
      }
    }
    return std::pair(core.counters().trace_hash, values);
  };
  CHECK(trace(1) == trace(1));
  CHECK(trace(1).second == trace(2).second);
}

TEST_CASE("a symbolic message has a size and a price, and no bytes") {
  Core core(world(2));
  Request send = message(Op::send, 1, 1000);
  send.data = {};
  const auto replies = run(core, {list({send}), list({message(Op::recv, 0, 1000)})});
  CHECK_FALSE(core.finding());
  CHECK(replies[1][0].data.bytes.empty());
  CHECK(core.counters().ranks[0].bytes_sent == 4000);
}

TEST_CASE("strands of a rank ask on their own, inherit its clock, and are joined") {
  Core core(world(2));
  Request busy = request_of(Op::compute, 1);
  busy.seconds = 7;
  Request join = request_of(Op::join, 2);
  join.handle = 1;
  core.start({0, 1}, {0, 0});
  core.ask({0, 0}, join);
  CHECK_FALSE(core.quiet());
  core.ask({0, 1}, busy);
  core.ask({1, 0}, message(Op::recv, 0, 1));
  REQUIRE(core.quiet());
  auto resumes = core.advance();
  REQUIRE(resumes.size() == 1);
  CHECK(resumes[0].actor == Actor{0, 1});
  core.ask({0, 1}, message(Op::send, 1, 1));
  CHECK(core.advance().size() == 2);
  core.end({0, 1});
  core.end({1, 0});
  resumes = core.advance();
  REQUIRE(resumes.size() == 1);
  CHECK(resumes[0].actor == Actor{0, 0});
  CHECK(resumes[0].reply.now >= 7);
  core.end({0, 0});
  CHECK(core.finished());
  CHECK_FALSE(core.finding());
}

TEST_CASE(
    "a strand that pauses goes on when another one of its rank wakes it, not before its clock") {
  const bool looked_at = GENERATE(false, true);  // the request, before it is answered
  Core core(world(2));
  Request busy = request_of(Op::compute, 1);
  busy.seconds = 7;
  core.start({0, 1}, {0, 0});
  core.ask({0, 0}, request_of(Op::pause, 1));
  core.end({1, 0});
  if (looked_at) {
    core.ask({0, 1}, busy);
    const auto resumes = core.advance();
    REQUIRE(resumes.size() == 1);
    REQUIRE(resumes[0].actor == Actor{0, 1});
  }
  core.wake({0, 0}, {0, 1});
  CHECK_THROWS_WITH(core.wake({0, 0}, {0, 1}), test::contains("is not paused"));
  core.end({0, 1});
  const auto resumes = core.advance();
  REQUIRE(resumes.size() == 1);
  CHECK(resumes[0].actor == Actor{0, 0});
  CHECK(resumes[0].reply.now == (looked_at ? 7 : 0));
  core.end({0, 0});
  CHECK(core.finished());
  CHECK_FALSE(core.finding());
}

TEST_CASE("only a running strand wakes, and only one of its own rank that pauses") {
  Core core(world(2));
  core.start({0, 1}, {0, 0});
  core.ask({0, 1}, request_of(Op::pause, 1));
  CHECK_THROWS_WITH(core.wake({0, 1}, {1, 0}), test::contains("is not paused"));
  CHECK_THROWS_WITH(core.wake({0, 0}, {0, 0}), test::contains("is not paused"));
  CHECK_THROWS_WITH(core.wake({0, 9}, {0, 0}), test::contains("no live strand 9"));
  core.ask({0, 0}, message(Op::recv, 1, 1));
  CHECK_THROWS_WITH(core.wake({0, 0}, {0, 1}), test::contains("still open"));
  CHECK_THROWS_WITH(core.wake({0, 1}, {0, 0}), test::contains("still open"));
}

TEST_CASE("what makes no sense is refused with a sentence") {
  Core core(world(3));
  CHECK_THROWS_WITH(core.ask({0, 0}, message(Op::send, 3, 1)), test::contains("peer 3"));
  CHECK_THROWS_WITH(core.ask({0, 0}, message(Op::send, 0, 1)), test::contains("peer 0"));
  CHECK_THROWS_WITH(core.ask({0, 0}, message(Op::recv, 1, -4)), test::contains("-4 elements"));
  CHECK_THROWS_WITH(core.ask({0, 1}, message(Op::recv, 1, 1)), test::contains("no live strand 1"));
  CHECK_THROWS_WITH(core.ask({5, 0}, message(Op::recv, 1, 1)), test::contains("no rank 5"));
  CHECK_THROWS_WITH(core.ask({0, 0}, wait_for(77, {})), test::contains("not open"));
  Request lie = message(Op::send, 1, 2);
  lie.count = 3;
  CHECK_THROWS_WITH(core.ask({0, 0}, lie), test::contains("8 bytes"));
  Request nowhere = message(Op::recv, 1, 1);
  nowhere.group = 9;
  CHECK_THROWS_WITH(core.ask({0, 0}, nowhere), test::contains("group 9"));
  Request service = request_of(Op::service, 1);
  service.name = "oracle";
  CHECK_THROWS_WITH(core.ask({0, 0}, service), test::contains("oracle"));
  CHECK_THROWS_AS(core.start({0, 0}, {0, 0}), Error);
  core.ask({0, 0}, message(Op::recv, 1, 1));
  CHECK_THROWS_WITH(core.ask({0, 0}, message(Op::recv, 1, 1)), test::contains("still open"));
}

TEST_CASE("going over a limit is found as traffic_limit, with the line") {
  Options options = world(2);
  options.limits.bytes_max = 100;
  Core core(options);
  run(core, {list({message(Op::send, 1, 25), message(Op::send, 1, 1, 12)}),
             list({message(Op::recv, 0, 25), message(Op::recv, 0, 1)})});
  REQUIRE(kind_found(core) == FindingKind::traffic_limit);
  CHECK_THAT(core.finding()->message, test::contains("100 bytes"));
  CHECK(core.finding()->where == "work/ring.cpp:12");
}
