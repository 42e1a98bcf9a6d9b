// The messages between launchers as JSON, for both directions in one place.
#pragma once

#include <nlohmann/json.hpp>

#include "engine/launch/nodes.hpp"

namespace lockstep::launch {

// Without `spare`, which no rank is on several nodes.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Failure, rank, node, host, pid, status, seconds, message,
                                   blames_peers, stopped, last)

struct Hello {
  int lockstep = 1;  // the version of what follows
  int nodes = 1;
  int node = -1;  // -1: whichever is free
  int ranks = 1;
  std::string host;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Hello, lockstep, nodes, node, ranks, host)

// The plan without what each launcher knows by itself: its addresses.
struct Begin {
  int attempt = 0;
  int max_restarts = 0;
  std::string run_id;
  std::vector<int> ranks_per_node;
  int node = 0;
  int store_port = 0;
  int master_port = 0;
  std::string report;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Begin, attempt, max_restarts, run_id, ranks_per_node, node,
                                   store_port, master_port, report)

}  // namespace lockstep::launch
