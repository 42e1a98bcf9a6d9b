// The modelled cluster as messages see it: nodes of equally many ranks, and two classes of links.
//
// Every rank has a port of its own to the ranks of its node (NVLink, shared memory). To all others
// it has one of its own too, or the cards of its node are described: then ranks share them, and
// what comes in queues at them as well as what goes out.
#pragma once

#include <optional>

#include "engine/sim/model/library.hpp"

namespace lockstep::sim {

// Seconds, bytes per second and per direction. A message occupies the sender's port for
// gap + bytes/bandwidth, and arrives latency later.
struct Link {
  double latency_s = 5e-6;
  double gap_s = 1e-6;
  double bandwidth_bytes_s = 10e9;
};

struct Network {
  // Within a node; between all pairs of ranks, when there is one node only.
  double latency_s = 5e-6;
  double gap_s = 1e-6;
  double bandwidth_bytes_s = 10e9;
  // Ranks 0 to R-1 are on the first node, R to 2R-1 on the second, …; 0: all are on one.
  int ranks_per_node = 0;
  Link between{};  // of each network card
  // Rank r of a node uses card r·C/R of C. 0: every rank has a port of its own, and what comes in
  // does not queue.
  int cards_per_node = 0;

  // The library that prices native collectives. Without one, their steps cost what messages do
  // (price.hpp).
  std::optional<Library> library{};

  int node_of(int rank) const { return ranks_per_node > 0 ? rank / ranks_per_node : 0; }
  int card_of(int rank) const {  // among all cards; requires both numbers per node
    const int place = rank % ranks_per_node * cards_per_node / ranks_per_node;
    return node_of(rank) * cards_per_node + place;
  }
  Link within() const { return {latency_s, gap_s, bandwidth_bytes_s}; }
};

}  // namespace lockstep::sim
