#include "engine/sim/model/network.hpp"

#include "engine/sim/core/traffic.hpp"
#include "engine/sim/model/price.hpp"
#include "tests/catch.hpp"
#include "tests/sim/scripted.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

Network two_nodes_of_two() {
  Network network{.latency_s = 1, .gap_s = 1, .bandwidth_bytes_s = 4};
  network.ranks_per_node = 2;
  network.between = {.latency_s = 10, .gap_s = 2, .bandwidth_bytes_s = 1};
  return network;
}

}  // namespace

TEST_CASE("a message to another node takes that link's time, and is counted as having left") {
  Options options = world(4);
  options.network = two_nodes_of_two();
  Core core(options);
  const auto replies =
      run(core, {list({message(Op::send, 1, 2), message(Op::send, 3, 2)}),
                 list({message(Op::recv, 0, 2)}), list({}), list({message(Op::recv, 0, 2)})});
  REQUIRE_FALSE(core.finding());
  CHECK(replies[1][0].now == Approx(1 + 2 + 1));           // 8 bytes at 4 bytes a second
  CHECK(replies[3][0].now == Approx(1 + 2 + 2 + 8 + 10));  // after the first, at 1 byte a second
  const auto& sender = core.counters().ranks[0];
  CHECK(sender.bytes_sent == 16);
  CHECK(sender.bytes_left_node == 8);
  CHECK(sender.messages_left_node == 1);
  CHECK(core.counters().ranks[1].bytes_left_node == 0);
  CHECK(traffic_of(core.counters()) == std::vector<Traffic>{{0, 1, 1, 8}, {0, 3, 1, 8}});
  CHECK(traffic_of_nodes(core.counters(), options.network) ==
        std::vector<Traffic>{{0, 0, 1, 8}, {0, 1, 1, 8}});
}

TEST_CASE("a rank sends to its own node and to others at the same time") {
  Options options = world(4);
  options.network = two_nodes_of_two();
  Core core(options);
  const Request near = message(Op::isend, 1, 2), far = message(Op::isend, 3, 2);
  const auto sender = [&](const std::vector<Reply>& replies) -> std::optional<Request> {
    if (replies.size() == 4) return std::nullopt;
    if (replies.size() < 2) return replies.empty() ? far : near;
    return wait_for(replies[replies.size() - 2].handle, replies.size() == 2 ? far.data : near.data);
  };
  const auto replies = run(
      core, {sender, list({message(Op::recv, 0, 2)}), list({}), list({message(Op::recv, 0, 2)})});
  REQUIRE_FALSE(core.finding());
  CHECK(replies[1][0].now == Approx(1 + 2 + 1));
  CHECK(replies[3][0].now == Approx(2 + 8 + 10));
}

TEST_CASE("a native collective on one node costs what it cost before there were others") {
  const int n = GENERATE(1, 2, 3, 4, 5, 7, 8);
  const Network one{.latency_s = 3, .gap_s = 1, .bandwidth_bytes_s = 4};
  const Extent group{n, 1};
  const double step = 4 + 24.0 / n / 4;
  CHECK(price_s(Collective::all_reduce, group, 24, one) == Approx(2 * (n - 1) * step));
  CHECK(price_s(Collective::reduce_scatter, group, 24, one) == Approx((n - 1) * step));
  CHECK(price_s(Collective::all_gather, group, 24, one) == Approx((n - 1) * (4 + 24.0 / 4)));
  CHECK(price_s(Collective::all_to_all, group, 24, one) == Approx((n - 1) * step));
}

TEST_CASE("network: of a ring over nodes, one link a node leads out of it") {
  const Extent group{16, 2};
  CHECK(sent_bytes(Collective::all_reduce, group, 64) ==
        SentBytes{2 * 15 * 64, 2 * 2 * 15 * 64 / 16});
  CHECK(sent_bytes(Collective::reduce_scatter, group, 64) == SentBytes{15 * 64, 2 * 15 * 64 / 16});
  CHECK(sent_bytes(Collective::all_gather, group, 4) == SentBytes{16 * 15 * 4, 2 * 15 * 4});
  CHECK(sent_bytes(Collective::broadcast, group, 4) == SentBytes{15 * 4, 4});
  CHECK(sent_bytes(Collective::all_to_all, group, 64) == SentBytes{15 * 64, 8 * 64});
  CHECK(sent_bytes(Collective::all_reduce, {16, 1}, 64).left_node == 0);
  CHECK(sent_bytes(Collective::all_gather, {1, 1}, 64) == SentBytes{});
}

TEST_CASE("a group split off knows on how many nodes it is") {
  Options options = world(4);
  options.network = two_nodes_of_two();
  const bool far = GENERATE(false, true);
  Core core(options);
  std::vector<Script> scripts;
  for (int rank = 0; rank < 4; ++rank) {
    Request split = request_of(Op::split, 1);
    split.color = far ? rank % 2 : rank / 2;
    scripts.push_back([split](const std::vector<Reply>& replies) -> std::optional<Request> {
      if (replies.empty()) return split;
      if (replies.size() > 1) return std::nullopt;
      Request sum = collective(Collective::all_reduce, {1});
      sum.group = replies[0].group;
      return sum;
    });
  }
  const auto replies = run(core, scripts);
  REQUIRE_FALSE(core.finding());
  const double step = far ? 10 + 2 + 2.0 / 1 : 1 + 1 + 2.0 / 4;
  for (const auto& of_rank : replies) CHECK(of_rank[1].now - of_rank[0].now == Approx(2 * step));
}
