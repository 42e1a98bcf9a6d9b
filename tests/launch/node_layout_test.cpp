#include "engine/launch/node_layout.hpp"

#include "engine/base/error.hpp"
#include "engine/launch/environment.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::launch;

TEST_CASE("node layout: rank and place are inverse, on unequal and empty nodes") {
  const std::vector<std::vector<int>> layouts{{1}, {4, 4}, {2, 0, 3}, {0, 0, 5}, {7, 1, 8, 0}};
  for (const auto& layout : layouts) {
    int rank = 0;
    for (int node = 0; node < static_cast<int>(layout.size()); ++node) {
      for (int local = 0; local < layout[static_cast<std::size_t>(node)]; ++local) {
        CHECK(worker_environment(layout, node, local, {"host", 1}).at("RANK") == text(rank));
        CHECK(place_of(layout, rank) == Place{node, local});
        ++rank;
      }
    }
    CHECK_THROWS_AS(place_of(layout, rank), ContractError);
    CHECK_THROWS_AS(place_of(layout, -1), ContractError);
  }
}

TEST_CASE("node layout: what it sets, a launched program reads") {
  const std::vector<int> layout{2, 0, 3};
  const WorkerEnv set = worker_environment(layout, 2, 1, {"node-0", 29400});
  const Environment found =
      read_environment([&](const std::string& name) -> std::optional<std::string> {
        const auto variable = set.find(name);
        return variable == set.end() ? std::nullopt : std::optional(variable->second);
      });
  CHECK(found.rank == 3);
  CHECK(found.world_size == 5);
  CHECK(found.local_rank == 1);
  CHECK(found.local_world_size == 3);
  CHECK(found.master_addr == "node-0");
  CHECK(found.master_port == 29400);
}

TEST_CASE("node layout: a process that no node starts has no environment") {
  const std::vector<int> layout{2, 0, 3};
  CHECK_THROWS_AS(worker_environment(layout, 3, 0, {"host", 1}), ContractError);
  CHECK_THROWS_AS(worker_environment(layout, 1, 0, {"host", 1}), ContractError);
  CHECK_THROWS_AS(worker_environment(layout, 0, 2, {"host", 1}), ContractError);
  CHECK_THROWS_AS(worker_environment(layout, -1, 0, {"host", 1}), ContractError);
}
