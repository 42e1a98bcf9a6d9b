#include "tests/comm/shm_ranks.hpp"

#include <thread>

#include "engine/comm/stores/tcp_store.hpp"

namespace lockstep::test {

namespace {

std::string with_group(comm::Store& store, int rank, int ranks, double timeout_s,
                       const RankGroup& body) {
  if (ranks == 1) return body(*comm::make_gloo_group(store, 0, 1));
  comm::ShmOptions options;
  options.timeout_s = timeout_s;
  const auto group = comm::make_shm_group(store, rank, ranks, options);
  return body(*group);
}

}  // namespace

std::vector<Outcome> run_shm_threads(int ranks, const RankGroup& body, double timeout_s) {
  const comm::StoreServer server;
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
      try {
        const auto store = comm::connect_store(server.host(), server.port());
        outcome.message = with_group(*store, rank, ranks, timeout_s, body);
        outcome.ok = true;
      } catch (const std::exception& error) {
        outcome.message = error.what();
      }
    });
  }
  threads.clear();
  return outcomes;
}

std::vector<Outcome> run_shm(int ranks, const RankGroup& body, double timeout_s) {
  return run_processes(ranks, [&](comm::Store& store, int rank) {
    return with_group(store, rank, ranks, timeout_s, body);
  });
}

}  // namespace lockstep::test
