// The traffic between each pair of ranks, from the record of a run: what Counters leave out for
// thousands of ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/sim/core/core.hpp"

namespace lockstep::sim {

struct Traffic {
  int src, dst;  // global ranks
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

// One entry for each pair that a message went between, by source and destination.
//   Requires  a run with Record::everything: otherwise there are no messages to count
std::vector<Traffic> traffic_of(const Counters& counters);

// The same from node to node of a network; src and dst are nodes, and may be the same one.
std::vector<Traffic> traffic_of_nodes(const Counters& counters, const Network& network);

}  // namespace lockstep::sim
