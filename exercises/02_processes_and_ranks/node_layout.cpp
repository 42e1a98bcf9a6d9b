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
  // Avoids warnings about parameters that are not used yet.
  (void)ranks_per_node, (void)node, (void)local_rank, (void)master;
  throw NotImplemented("node_layout");
  // <<< your code
}

Place place_of(std::span<const int> ranks_per_node, int rank) {
  LOCKSTEP_CHECK(rank >= 0, "place_of: rank ", rank, "; ranks count from 0");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)ranks_per_node, (void)rank;
  throw NotImplemented("node_layout");
  // <<< your code
}

}  // namespace lockstep::launch
