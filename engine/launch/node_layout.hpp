// The numbers of ranks that are spread over nodes: a decision, so pure functions. Node n starts
// ranks_per_node[n] processes. Ranks are numbered node by node: first all of node 0, then all of
// node 1, and so on, so that ranks with neighboring numbers share a node where possible.
//
//   ranks_per_node   {2, 0, 3}
//   node 0           rank 0 = local rank 0, rank 1 = local rank 1
//   node 1           no rank; it is still a node, and keeps its number
//   node 2           rank 2 = local rank 0, rank 3 = local rank 1, rank 4 = local rank 2
//
// A program learns its place from its environment alone: the launcher sets the variables below in
// each process it starts. The launcher sets up no communication; the program does.
#pragma once

#include <map>
#include <span>
#include <string>

#include "engine/comm/endpoint.hpp"

namespace lockstep::launch {

// Variables by name, as one process finds them in its environment.
using WorkerEnv = std::map<std::string, std::string>;

// The place where a rank runs.
struct Place {
  int node = 0;
  int local_rank = 0;
  bool operator==(const Place&) const = default;
};

// Two parts in one file: defined in solutions/02_processes_and_ranks.
//
// The environment of the process with local rank `local_rank` on node `node`.
//   Ensures   these eight variables and no others, with numbers as plain decimal digits:
//               RANK               its number in the world
//               LOCAL_RANK         its number on its node: the device it uses
//               GROUP_RANK         its node's number
//               WORLD_SIZE         ranks of all nodes together
//               LOCAL_WORLD_SIZE   ranks of its node
//               GROUP_WORLD_SIZE   nodes, including empty ones
//               MASTER_ADDR        the host at which all ranks meet, as it was given
//               MASTER_PORT        and its port
//   Throws    ContractError when the node or the local rank does not exist
//   Source    torchrun's names: PyTorch torch/distributed/run.py. It counts one "group" per agent,
//             and one agent per node
WorkerEnv worker_environment(std::span<const int> ranks_per_node, int node, int local_rank,
                             const comm::Endpoint& master);

// The inverse: the place of rank `rank` of the world.
//   Throws    ContractError when there is no such rank
Place place_of(std::span<const int> ranks_per_node, int rank);

}  // namespace lockstep::launch
