// The part store_rendezvous over the store that real runs use.
#include <thread>

#include "engine/comm/store_rendezvous.hpp"
#include "engine/comm/stores/tcp_store.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::comm;

namespace {

// What each rank got, or the ranks it missed.
struct Outcome {
  std::vector<Endpoint> addresses;
  std::vector<int> missing;
};

Endpoint address_of(int rank, int attempt) { return {text("node-", rank), 1000 + 10 * attempt}; }

Outcome outcome_of(const StoreServer& server, int rank, int size, int attempt, double timeout_s) {
  const auto store = connect_store(server.host(), server.port());
  try {
    return {rendezvous(*store, rank, size, address_of(rank, attempt), attempt, timeout_s), {}};
  } catch (const RanksMissing& error) {
    return {{}, error.ranks};
  }
}

std::vector<Outcome> run(const StoreServer& server, const std::vector<int>& who, int size,
                         int attempt, double timeout_s) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (const int rank : who) {
    threads.emplace_back([&, rank] {
      outcomes[static_cast<std::size_t>(rank)] = outcome_of(server, rank, size, attempt, timeout_s);
    });
  }
  for (auto& thread : threads) thread.join();
  return outcomes;
}

}  // namespace

TEST_CASE("rendezvous: every rank has all addresses, in one attempt after the other") {
  const StoreServer server;
  for (const int size : {1, 2, 3, 5, 8}) {
    for (const int attempt : {size * 10, size * 10 + 1}) {
      std::vector<int> all;
      std::vector<Endpoint> expected;
      for (int rank = 0; rank < size; ++rank) {
        all.push_back(size - 1 - rank);
        expected.push_back(address_of(rank, attempt));
      }
      for (const Outcome& outcome : run(server, all, size, attempt, 30)) {
        CHECK(outcome.addresses == expected);
      }
    }
  }
}

TEST_CASE("rendezvous: all who are missing are named, and a new attempt succeeds") {
  const StoreServer server;
  // Both come within this time, on a busy machine, too.
  const auto outcomes = run(server, {1, 3}, 5, 0, 2);
  CHECK(outcomes[1].missing == std::vector<int>{0, 2, 4});
  CHECK(outcomes[3].missing == std::vector<int>{0, 2, 4});
  for (const Outcome& outcome : run(server, {0, 1, 2, 3, 4}, 5, 1, 30)) {
    CHECK(outcome.addresses.size() == 5);
  }
}

TEST_CASE("rendezvous: a store that is lost is an error of its own, and nobody is called missing") {
  auto server = std::make_unique<StoreServer>();
  const auto store = connect_store(server->host(), server->port());
  server.reset();
  try {
    rendezvous(*store, 0, 2, {}, 0, 0.1);
    FAIL("it did not throw");
  } catch (const RanksMissing&) {
    FAIL("it named ranks");
  } catch (const CommError& error) {
    CHECK_THAT(error.what(), test::contains("has probably ended"));
  }
}

TEST_CASE("endpoint: text and back, whatever colons the host has") {
  for (const Endpoint& endpoint : {Endpoint{"node-3", 29500}, Endpoint{"fe80::1", 1},
                                   Endpoint{"", 0}, Endpoint{"::", 65535}}) {
    CHECK(endpoint_of(text_of(endpoint)) == endpoint);
  }
  for (const char* text : {"", "node-3", "node-3:", "node-3:x", "node-3:1x", "n:65536", "n:-1"}) {
    CHECK_FALSE(endpoint_of(text).has_value());
  }
}
