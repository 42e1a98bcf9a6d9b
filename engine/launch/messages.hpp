// The messages between launchers as JSON, for both directions in one place.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/launch/nodes.hpp"

namespace lockstep::launch {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Failure, rank, node, host, pid, status, seconds, message,
                                   blames_peers, stopped, spare, last, saved, ranks_needed)

struct Hello {
  int lockstep = 2;  // the version of what follows
  int nodes = 1;
  int nodes_min = 0;  // 0: membership is fixed
  int node = -1;      // -1: whichever is free
  int ranks = 1;
  std::string host;
  std::string command;  // for comparing
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Hello, lockstep, nodes, nodes_min, node, ranks, host, command)

// The plan without what each launcher knows by itself: its addresses.
struct Begin {
  int attempt = 0;
  int restarts = 0;
  int max_restarts = 0;
  std::string run_id;
  std::vector<int> ranks_per_node;
  int node = 0;
  int store_port = 0;
  int master_port = 0;
  std::string report;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Begin, attempt, restarts, max_restarts, run_id, ranks_per_node,
                                   node, store_port, master_port, report)

}  // namespace lockstep::launch
