// Task: give every process its place. Nodes start different numbers of processes, some none. Say
// what one process finds in its environment, which is all that it ever knows of where it is; and
// say, of a rank, on which node it runs, and as which local rank. Ranks are numbered node by node.
// Names, meanings and an example stand in engine/launch/node_layout.hpp; text(7) is "7".
#include "engine/launch/node_layout.hpp"

#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::launch {

namespace {

std::vector<Place> all_workers(std::span<const int> ranks_per_node) {
  std::vector<Place> workers;
  int node = 0;
  for (const int ranks : ranks_per_node) {
    for (int local_rank = 0; local_rank < ranks; ++local_rank) {
      workers.push_back({node, local_rank});
    }
    ++node;
  }
  return workers;
}

}  // namespace

WorkerEnv worker_environment(std::span<const int> ranks_per_node, int node, int local_rank,
                             const comm::Endpoint& master) {
  const int nodes = static_cast<int>(ranks_per_node.size());
  LOCKSTEP_CHECK(node >= 0 && node < nodes, "worker_environment: node ", node, " of ", nodes,
                 "; nodes count from 0");
  const int local_size = ranks_per_node[static_cast<std::size_t>(node)];
  LOCKSTEP_CHECK(local_rank >= 0 && local_rank < local_size, "worker_environment: local rank ",
                 local_rank, " of ", local_size, " on node ", node, "; local ranks count from 0");
  // >>> your code
  int rank = -1, size = 0;
  const std::vector<Place> workers = all_workers(ranks_per_node);
  for (const Place& worker : workers) {
    if (worker == Place{node, local_rank}) rank = size;
    ++size;
  }
  WorkerEnv variables;
  variables["RANK"] = std::to_string(rank);
  variables["LOCAL_RANK"] = std::to_string(local_rank);
  variables["GROUP_RANK"] = std::to_string(node);
  variables["WORLD_SIZE"] = std::to_string(workers.size());
  variables["LOCAL_WORLD_SIZE"] = std::to_string(local_size);
  variables["GROUP_WORLD_SIZE"] = std::to_string(ranks_per_node.size());
  variables["MASTER_ADDR"] = master.host;
  variables["MASTER_PORT"] = std::to_string(master.port);
  return variables;
  // <<< your code
}

Place place_of(std::span<const int> ranks_per_node, int rank) {
  LOCKSTEP_CHECK(rank >= 0, "place_of: rank ", rank, "; ranks count from 0");
  // >>> your code
  const std::vector<Place> workers = all_workers(ranks_per_node);
  LOCKSTEP_CHECK(rank < static_cast<int>(workers.size()), "place_of: rank ", rank, " of ",
                 workers.size());
  return workers[static_cast<std::size_t>(rank)];
  // <<< your code
}

}  // namespace lockstep::launch
