// The groups of workers and servers, and which server keeps which tensor.
#include <numeric>
#include <set>

#include "engine/parallel/async_sgd/pair_groups.hpp"
#include "engine/parallel/async_sgd/shard.hpp"
#include "tests/async_sgd/ranks.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using lockstep::test::contains;
using lockstep::test::message_of;

TEST_CASE("async pairs: every two ranks meet once, and none is in two pairs of a round") {
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 13}) {
    CAPTURE(ranks);
    std::set<std::pair<int, int>> met;
    for (const async_sgd::Round& round : async_sgd::rounds_of_pairs(ranks)) {
      REQUIRE(std::ssize(round) == ranks);
      for (int one = 0; one < ranks; ++one) {
        const auto other = round[static_cast<std::size_t>(one)];
        if (!other) continue;
        CHECK(*other != one);
        CHECK(round[static_cast<std::size_t>(*other)] == one);  // so no rank has two partners
        if (one < *other) CHECK(met.insert({one, *other}).second);
      }
    }
    CHECK(std::ssize(met) == ranks * (ranks - 1) / 2);
  }
  CHECK_THAT(message_of([] { async_sgd::rounds_of_pairs(0); }), contains("0 ranks"));
}

TEST_CASE("async pairs: each worker has a group with each server, and no other rank is in it") {
  for (const int ranks : {1, 2, 3, 4, 5, 8, 13}) {
    for (const int servers : {1, (ranks + 1) / 2, ranks}) {
      CAPTURE(ranks, servers);
      const auto run = test::on_ranks(ranks, [&](comm::ProcessGroup& world, sim::FiberRank& self) {
        async_sgd::PairGroups pairs = async_sgd::connect(world, servers, self.strands);
        LOCKSTEP_EXPECT(std::ssize(pairs.to_servers) == servers);
        LOCKSTEP_EXPECT(std::ssize(pairs.to_workers) == (self.rank < servers ? ranks : 0));
        CpuDevice device;
        const auto number = [&](int of) { return full({1}, of, DType::float64, device); };
        // Each worker tells each server its number times 100 and the server's.
        auto serving = self.strands.start("serving", [&] {
          for (int worker = 0; worker < std::ssize(pairs.to_workers); ++worker) {
            comm::ProcessGroup& pair = *pairs.to_workers[static_cast<std::size_t>(worker)];
            LOCKSTEP_EXPECT(pair.size() == 2 && pair.rank() == 0);
            const Tensor told = number(-1);
            pair.recv(told, 1);
            LOCKSTEP_EXPECT(told.item() == 100 * worker + self.rank);
          }
        });
        for (int server = 0; server < servers; ++server) {
          comm::ProcessGroup& pair = *pairs.to_servers[static_cast<std::size_t>(server)];
          LOCKSTEP_EXPECT(pair.size() == 2 && pair.rank() == 1);
          const Tensor told = number(100 * self.rank + server);
          pair.send(told, 0);
        }
        serving->join();
      });
      CHECK(run.finding == "");
    }
  }
}

TEST_CASE("async pairs: more servers than ranks, or none, are refused") {
  for (const int servers : {0, 3}) {
    const auto run = test::on_ranks(2, [&](comm::ProcessGroup& world, sim::FiberRank& self) {
      async_sgd::connect(world, servers, self.strands);
    });
    CHECK_THAT(run.finding, contains(text(servers, " servers on 2 ranks")));
  }
}

TEST_CASE("async shards: every tensor has one server, and none is much larger than needed") {
  const std::vector<std::int64_t> counts{7, 0, 100, 30, 30, 1, 31, 64};
  const std::int64_t all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  for (const int servers : {1, 2, 3, 5, 8, 13}) {
    CAPTURE(servers);
    const auto shards = async_sgd::assign_shards(counts, servers);
    REQUIRE(std::ssize(shards) == servers);
    std::multiset<std::size_t> seen;
    for (const auto& shard : shards) {
      CHECK(std::ranges::is_sorted(shard));
      std::int64_t held = 0;
      for (const std::size_t place : shard) {
        seen.insert(place);
        held += counts.at(place);
      }
      // Whoever gets a tensor had the least until then, which is at most the mean.
      CHECK(held <= all / servers + 100);
    }
    CHECK(std::ssize(seen) == std::ssize(counts));
    CHECK(std::set(seen.begin(), seen.end()).size() == counts.size());
  }
  CHECK(async_sgd::assign_shards(counts, 2) ==
        std::vector<std::vector<std::size_t>>{{1, 2, 4, 5}, {0, 3, 6, 7}});
}
