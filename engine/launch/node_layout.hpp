// Who is who when ranks are spread over nodes: a decision, so pure functions. Node n starts
// ranks_per_node[n] processes. Ranks are numbered node by node: first all of node 0, then all of
// node 1, and so on, so that neighbours in rank are neighbours in the machine room, too.
//
//   ranks_per_node   {2, 0, 3}
//   node 0           rank 0 = local rank 0, rank 1 = local rank 1
//   node 1           nobody; it is a node all the same, and keeps its number
//   node 2           rank 2 = local rank 0, rank 3 = local rank 1, rank 4 = local rank 2
//
// A program learns its place from its environment, and from nothing else: the launcher sets the
// variables below in each process it starts. It sets up no communication; that the program does.
#pragma once

#include <map>
#include <span>
#include <string>

#include "engine/comm/endpoint.hpp"

namespace lockstep::launch {

// Variables by name, as one process finds them in its environment.
using WorkerEnv = std::map<std::string, std::string>;

// Where a rank runs.
struct Place {
  int node = 0;
  int local_rank = 0;
  bool operator==(const Place&) const = default;
};

// Two parts in one file: defined in solutions/02_processes_and_ranks.
//
// What the process of local rank `local_rank` on node `node` finds in its environment.
//   Ensures   these eight variables and no others, numbers in plain decimal digits:
//               RANK               its number in the world
//               LOCAL_RANK         its number on its node: the device it uses
//               GROUP_RANK         its node's number
//               WORLD_SIZE         ranks of all nodes together
//               LOCAL_WORLD_SIZE   ranks of its node
//               GROUP_WORLD_SIZE   nodes, the empty ones too
//               MASTER_ADDR        where all ranks meet: the host as it was given
//               MASTER_PORT        and its port
//   Throws    ContractError when the node or the local rank does not exist
//   Source    torchrun's names: PyTorch torch/distributed/run.py. It counts a "group" for each
//             agent, which is one a node
WorkerEnv worker_environment(std::span<const int> ranks_per_node, int node, int local_rank,
                             const comm::Endpoint& master);

// The inverse: where rank `rank` of the world runs.
//   Throws    ContractError when there is no such rank
Place place_of(std::span<const int> ranks_per_node, int rank);

}  // namespace lockstep::launch
