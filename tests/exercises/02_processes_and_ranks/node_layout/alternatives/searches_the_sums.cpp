// Task: give every process its place. Nodes start different numbers of processes, some none. Say
// what one process finds in its environment, which is all that it ever knows of where it is; and
// say, of a rank, on which node it runs, and as which local rank. Ranks are numbered node by node.
// Names, meanings and an example stand in engine/launch/node_layout.hpp; text(7) is "7".
#include "engine/launch/node_layout.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/base/error.hpp"

namespace lockstep::launch {

namespace {

// The first rank of each node, and behind them the number of all.
std::vector<int> first_ranks(std::span<const int> ranks_per_node) {
  std::vector<int> first(ranks_per_node.size() + 1, 0);
  std::partial_sum(ranks_per_node.begin(), ranks_per_node.end(), first.begin() + 1);
  return first;
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
  const std::vector<int> first = first_ranks(ranks_per_node);
  const auto at = static_cast<std::size_t>(node);
  return {{"MASTER_ADDR", master.host},
          {"MASTER_PORT", std::to_string(master.port)},
          {"GROUP_RANK", std::to_string(node)},
          {"GROUP_WORLD_SIZE", std::to_string(nodes)},
          {"LOCAL_RANK", std::to_string(local_rank)},
          {"LOCAL_WORLD_SIZE", std::to_string(first[at + 1] - first[at])},
          {"RANK", std::to_string(first[at] + local_rank)},
          {"WORLD_SIZE", std::to_string(first.back())}};
  // <<< your code
}

Place place_of(std::span<const int> ranks_per_node, int rank) {
  LOCKSTEP_CHECK(rank >= 0, "place_of: rank ", rank, "; ranks count from 0");
  // >>> your code
  // The last node that begins at or before the rank; of nodes that begin there together, all but
  // the last start nobody.
  const std::vector<int> first = first_ranks(ranks_per_node);
  if (rank >= first.back()) throw ContractError("place_of: no such rank");
  const auto next = std::upper_bound(first.begin(), first.end(), rank);
  return {static_cast<int>(next - first.begin()) - 1, rank - *(next - 1)};
  // <<< your code
}

}  // namespace lockstep::launch
