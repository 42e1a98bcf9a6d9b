// Task: number the processes of a job. Nodes start different numbers of processes, some none.
// Return the environment of one process, from which it learns its place; and for a rank, find its
// node and its local rank. Ranks are numbered node by node. Names, meanings and an example stand in
// engine/launch/node_layout.hpp; text(7) is "7".
#include "engine/launch/node_layout.hpp"

#include <numeric>

#include "engine/base/error.hpp"

namespace lockstep::launch {

WorkerEnv worker_environment(std::span<const int> ranks_per_node, int node, int local_rank,
                             const comm::Endpoint& master) {
  const int nodes = static_cast<int>(ranks_per_node.size());
  LOCKSTEP_CHECK(node >= 0 && node < nodes, "worker_environment: node ", node, " of ", nodes,
                 "; nodes count from 0");
  const int local_size = ranks_per_node[static_cast<std::size_t>(node)];
  LOCKSTEP_CHECK(local_rank >= 0 && local_rank < local_size, "worker_environment: local rank ",
                 local_rank, " of ", local_size, " on node ", node, "; local ranks count from 0");
  // >>> your code
  const auto before = ranks_per_node.first(static_cast<std::size_t>(node));
  const int first_rank = std::accumulate(before.begin(), before.end(), 0);
  const int size = std::accumulate(ranks_per_node.begin(), ranks_per_node.end(), 0);
  return {{"RANK", text(first_rank + local_rank)},
          {"LOCAL_RANK", text(local_rank)},
          {"GROUP_RANK", text(node)},
          {"WORLD_SIZE", text(size)},
          {"LOCAL_WORLD_SIZE", text(local_size)},
          {"GROUP_WORLD_SIZE", text(nodes)},
          {"MASTER_ADDR", master.host},
          {"MASTER_PORT", text(master.port)}};
  // <<< your code
}

Place place_of(std::span<const int> ranks_per_node, int rank) {
  LOCKSTEP_CHECK(rank >= 0, "place_of: rank ", rank, "; ranks count from 0");
  // >>> your code
  int local_rank = rank;
  for (std::size_t node = 0; node < ranks_per_node.size(); ++node) {
    if (local_rank < ranks_per_node[node]) return {static_cast<int>(node), local_rank};
    local_rank -= ranks_per_node[node];
  }
  throw ContractError(text("place_of: there is no rank ", rank, "; the nodes start ",
                           rank - local_rank, " ranks together"));
  // <<< your code
}

}  // namespace lockstep::launch
