// The ports of all ranks: when a message leaves, and when it arrives. Internal to engine/sim.
//
// Invariant: the transfers of one port come in the order in which they are to take it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/sim/network.hpp"

namespace lockstep::sim {

// What a fault makes of a link, as factors.
struct LinkChange {
  double slower = 1;  // of all that it takes
  double latency = 1;
};

class Links {
 public:
  Links(const Network& network, int ranks)
      : classes_{network.within(), network.between},
        one_node_(network.node_of(ranks - 1) == 0),
        free_s_(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) node_.push_back(network.node_of(rank));
  }

  struct Passage {
    double begin_s, sent_s, arrived_s;
    bool leaves_node;
  };
  // The message may go from `ready_s` on, when both sides are posted.
  Passage pass(int src, int dst, std::int64_t bytes, double ready_s,
               const LinkChange& change = {}) {
    const auto from = static_cast<std::size_t>(src), to = static_cast<std::size_t>(dst);
    const bool leaves = !one_node_ && node_[from] != node_[to];
    const Link& link = classes_[leaves];
    double& free_s = free_s_[from][leaves];
    const double begin = std::max(ready_s, free_s);
    free_s =
        begin + change.slower * (link.gap_s + static_cast<double>(bytes) / link.bandwidth_bytes_s);
    return {begin, free_s, free_s + change.slower * change.latency * link.latency_s, leaves};
  }

 private:
  std::array<Link, 2> classes_;  // within a node, between nodes
  bool one_node_;
  std::vector<int> node_;                      // by rank
  std::vector<std::array<double, 2>> free_s_;  // by rank: when its ports are idle
};

}  // namespace lockstep::sim
