// The modelled cluster as messages see it: nodes of equally many ranks, and two classes of links.
//
// Invariant: no link is shared. Every rank has a port of its own to the ranks of its node (NVLink,
// shared memory) and one to all others (its network card).
#pragma once

#include <optional>

#include "engine/sim/library.hpp"

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
  Link between{};          // of each network card
  int cards_per_node = 0;  // 0: every rank has one of its own

  // What native collectives cost; without one, their steps cost what messages do (price.hpp).
  std::optional<Library> library{};

  int node_of(int rank) const { return ranks_per_node > 0 ? rank / ranks_per_node : 0; }
  Link within() const { return {latency_s, gap_s, bandwidth_bytes_s}; }
};

}  // namespace lockstep::sim
