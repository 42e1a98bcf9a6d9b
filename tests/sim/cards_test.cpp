// Network cards that the ranks of a node share.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/random.hpp"
#include "tests/catch.hpp"
#include "tests/sim/scripted.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

// A message of n floats holds a card for n seconds, and is 10 s on its way.
Network nodes_of(int ranks, int cards) {
  Network network{.latency_s = 1, .gap_s = 0, .bandwidth_bytes_s = 4};
  network.ranks_per_node = ranks;
  network.between = {.latency_s = 10, .gap_s = 0, .bandwidth_bytes_s = 4};
  network.cards_per_node = cards;
  return network;
}

Options cluster(int ranks, const Network& network, std::uint64_t seed = 0) {
  Options options = world(ranks, seed);
  options.network = network;
  return options;
}

Request computing(double seconds) {
  Request request = request_of(Op::compute, 1);
  request.seconds = seconds;
  return request;
}

// Starts `first`, then waits for all of them, the last first.
Script started(std::vector<Request> first) {
  return [first = std::move(first)](const std::vector<Reply>& replies) -> std::optional<Request> {
    const std::size_t asked = replies.size(), n = first.size();
    if (asked < n) return first[asked];
    if (asked == 2 * n) return std::nullopt;
    const std::size_t at = 2 * n - 1 - asked;
    Request wait = wait_for(replies[at].handle, first[at].data);
    if (first[at].op == Op::irecv) wait.checksum = first[at].checksum;  // none
    return wait;
  };
}

}  // namespace

TEST_CASE(
    "cards: messages of a node queue at the card that its ranks share, in the order of time") {
  Core core(cluster(4, nodes_of(2, 1)));
  const auto replies =
      run(core, {list({computing(3), message(Op::send, 2, 8)}),
                 list({computing(2), message(Op::send, 3, 4)}), list({message(Op::recv, 0, 8)}),
                 list({message(Op::recv, 1, 4)})});
  REQUIRE_FALSE(core.finding());
  CHECK(replies[1][1].now == Approx(2 + 4));
  CHECK(replies[3][0].now == Approx(2 + 4 + 10));
  CHECK(replies[0][1].now == Approx(6 + 8));  // after the other rank's
  CHECK(replies[2][0].now == Approx(6 + 8 + 10));
}

TEST_CASE("cards: with one for each rank, messages of a node do not meet") {
  Core core(cluster(4, nodes_of(2, 2)));
  const auto replies =
      run(core, {list({message(Op::send, 2, 8)}), list({message(Op::send, 3, 4)}),
                 list({message(Op::recv, 0, 8)}), list({message(Op::recv, 1, 4)})});
  CHECK(replies[2][0].now == Approx(8 + 10));
  CHECK(replies[3][0].now == Approx(4 + 10));
}

TEST_CASE("cards: what comes into a node queues too, in the order in which it comes") {
  Core core(cluster(3, nodes_of(1, 1)));
  const auto replies =
      run(core, {list({computing(1), message(Op::send, 2, 8)}), list({message(Op::send, 2, 8)}),
                 started({message(Op::irecv, 0, 8), message(Op::irecv, 1, 8)})});
  REQUIRE_FALSE(core.finding());
  CHECK(replies[1][0].now == Approx(8));  // a sender does not wait for the receiver's card
  CHECK(replies[0][1].now == Approx(1 + 8));
  CHECK(replies[2][2].now == Approx(8 + 10));      // rank 1's came first
  CHECK(replies[2][3].now == Approx(8 + 10 + 8));  // and rank 0's a second later, behind it
}

TEST_CASE("cards: messages within a node do not use them") {
  Core core(cluster(4, nodes_of(2, 1)));
  const auto replies =
      run(core, {list({message(Op::send, 1, 8)}), list({message(Op::recv, 0, 8)}),
                 list({message(Op::send, 3, 8)}), list({message(Op::recv, 2, 8)})});
  CHECK(replies[1][0].now == Approx(8 + 1));
  CHECK(replies[3][0].now == Approx(8 + 1));
}

TEST_CASE("cards: they serve by virtual time, whatever rank ran first") {
  const int per_node = 16;
  const auto seed = GENERATE(range(std::uint64_t{0}, std::uint64_t{5}));
  const auto draws = random_permutation(per_node, seed + 100);
  std::vector<Script> scripts;
  for (int rank = 0; rank < per_node; ++rank) {
    const double starts = 0.5 * static_cast<double>(draws[static_cast<std::size_t>(rank)]);
    scripts.push_back(list({computing(starts), message(Op::send, per_node + rank, 3)}));
  }
  for (int rank = 0; rank < per_node; ++rank) scripts.push_back(list({message(Op::recv, rank, 3)}));
  Core core(cluster(2 * per_node, nodes_of(per_node, 1), seed));
  const auto replies = run(core, scripts);
  REQUIRE_FALSE(core.finding());
  for (int rank = 0; rank < per_node; ++rank) {
    const auto place = static_cast<double>(draws[static_cast<std::size_t>(rank)]);
    CHECK(replies[static_cast<std::size_t>(rank)][1].now == Approx(3 * (place + 1)));
  }
}

TEST_CASE("cards: a rank that goes on while others wait for a card comes in between them") {
  // Rank 0's first message is over at 4 and its second ready at 5. Rank 1's, ready at 6, was posted
  // before anybody knew of that one, and comes after it.
  Core core(cluster(4, nodes_of(2, 1)));
  const auto replies =
      run(core, {list({message(Op::send, 2, 4), computing(1), message(Op::send, 2, 4)}),
                 list({computing(6), message(Op::send, 3, 4)}),
                 started({message(Op::irecv, 0, 4), message(Op::irecv, 0, 4)}),
                 list({message(Op::recv, 1, 4)})});
  REQUIRE_FALSE(core.finding());
  CHECK(replies[0][2].now == Approx(5 + 4));
  CHECK(replies[1][1].now == Approx(9 + 4));
  CHECK(replies[3][0].now == Approx(9 + 4 + 10));
}

TEST_CASE(
    "cards: where no two messages meet, everything takes as long as with ports of their own") {
  const int n = GENERATE(2, 3, 4, 8, 12);
  const int per_node = GENERATE(1, 2, 3);
  std::vector<Script> scripts;
  for (int rank = 0; rank < n; ++rank) {
    std::vector<Request> steps;
    for (int step = 0; step < 6; ++step) {
      const Request send = message(Op::send, (rank + 1) % n, 1 + step);
      const Request recv = message(Op::recv, (rank + n - 1) % n, 1 + step);
      steps.push_back(computing(0.25 * ((rank * 7 + step * 3) % 5)));
      steps.push_back(rank % 2 == 0 ? send : recv);
      steps.push_back(rank % 2 == 0 ? recv : send);
    }
    scripts.push_back(list(steps));
  }
  const auto clocks = [&](int cards, std::uint64_t seed) {
    Core core(cluster(n, nodes_of(per_node, cards), seed));
    run(core, scripts);
    REQUIRE_FALSE(core.finding());
    std::vector<double> all;
    for (const auto& rank : core.counters().ranks) all.push_back(rank.clock_s);
    return std::pair(all, core.counters().trace_hash);
  };
  CHECK(clocks(per_node, 0) == clocks(0, 0));
  CHECK(clocks(1, 0) == clocks(1, 7));
  // Around a ring one rank of a node sends out and one receives: a card is shared with nobody.
  CHECK(clocks(1, 0) == clocks(0, 0));
}

TEST_CASE("cards: a wait while others' messages are on their way is no deadlock") {
  const int cards = GENERATE(0, 1);
  Core core(cluster(3, nodes_of(1, cards)));
  const auto replies =
      run(core,
          {started({message(Op::isend, 1, 1), message(Op::isend, 1, 1), message(Op::irecv, 2, 1)}),
           started({message(Op::irecv, 0, 1), message(Op::irecv, 0, 1), message(Op::irecv, 2, 1)}),
           list({computing(100), message(Op::send, 1, 1), message(Op::send, 0, 1)})});
  INFO((core.finding() ? core.finding()->message : ""));
  CHECK_FALSE(core.finding());
  CHECK(replies[1].size() == 6);
}

TEST_CASE("cards: a mismatch ends the run, whatever else is on its way") {
  const int cards = GENERATE(0, 1);
  Core core(cluster(4, nodes_of(2, cards)));
  run(core, {started({message(Op::isend, 2, 3), message(Op::isend, 3, 3)}),
             started({message(Op::isend, 2, 3), message(Op::isend, 3, 3)}),
             started({message(Op::irecv, 0, 4), message(Op::irecv, 1, 3)}),
             started({message(Op::irecv, 1, 3), message(Op::irecv, 0, 3)})});
  CHECK(kind_found(core) == FindingKind::mismatch);
}

TEST_CASE("cards: a link that is cut or slow is so over cards too") {
  Options options = cluster(2, nodes_of(1, 1));
  const bool cut = GENERATE(false, true);
  options.faults.links.push_back({Faults::Ends::nodes, 0, 1, cut ? HUGE_VAL : 3});
  Core core(options);
  const auto replies =
      run(core, {list({message(Op::send, 1, 8)}), list({message(Op::recv, 0, 8)})});
  if (cut) {
    CHECK(replies[0][0].status == Status::failed);
    CHECK(replies[1][0].status == Status::failed);
  } else {
    CHECK(replies[0][0].now == Approx(3 * 8));
    CHECK(replies[1][0].now == Approx(3 * (8 + 10)));
  }
}

TEST_CASE("cards: a message to a rank that dies before it arrives does not take place") {
  Options options = cluster(2, nodes_of(1, 1));
  options.faults.kills.push_back({.rank = 1, .at_s = 12});
  Core core(options);
  const auto replies =
      run(core, {list({message(Op::send, 1, 8)}), list({message(Op::recv, 0, 8)})});
  CHECK(replies[0][0].status == Status::failed);
  CHECK_THAT(replies[0][0].error, test::contains("rank 1"));
}
