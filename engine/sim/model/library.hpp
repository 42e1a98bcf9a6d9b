// The cost of NCCL's collectives: for each algorithm and protocol that the library may choose, its
// latency and its bandwidth, and the cheapest of them. The form and the constants of the protocols
// are those by which the library itself chooses [NCCLT]; what differs from one cluster to the next,
// and what no data sheet says, are the fields of Library, which a cluster's file sets.
//
// N members on M nodes, N/M of them on each; b bytes that one brings; steps within a node and
// between nodes as [NCCLT] times them, for a protocol:
//
//   ring       all_reduce 2(N-1) steps, 2(M-1) of them between nodes, and 2(N-1)/N·b over the
//              slowest place: a port within a node, or the cards of the group's N/M ranks together;
//              reduce_scatter half of both; all_gather N-1 steps and (N-1)·b; broadcast and reduce
//              N-1 steps and b, in a pipeline
//   tree       all_reduce 2(N/M-1) steps within nodes, 2⌈log₂M⌉ between them, and 2·b
//   in_switch  all_reduce in one node whose switch adds up (NVLS): one start and b
//   pairs      all_to_all, gather, scatter: one step, a gap for each further peer, and the bytes of
//              the busiest rank over its port and its card, whichever takes longer
//
// Left out: that the library cannot use every algorithm for every group, its corrections for trees
// of medium sizes, several collectives at once.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/sim/wire/request.hpp"

namespace lockstep::sim {

enum class Algorithm : std::uint8_t { ring, tree, in_switch };
// As the library calls them: two that send little with little delay, one for large messages.
enum class Protocol : std::uint8_t { ll, ll128, simple };

inline constexpr std::array all_algorithms{Algorithm::ring, Algorithm::tree, Algorithm::in_switch};
inline constexpr std::array all_protocols{Protocol::ll, Protocol::ll128, Protocol::simple};

struct Choices {
  std::vector<Algorithm> algorithms{all_algorithms.begin(), all_algorithms.end()};
  std::vector<Protocol> protocols{all_protocols.begin(), all_protocols.end()};
};

enum class Wire : std::uint8_t { nvlink, pci };
inline constexpr std::array all_wires{Wire::nvlink, Wire::pci};

struct Library {
  Wire wire = Wire::nvlink;  // within a node

  double start_s = 0;             // of a collective, beyond what the library counts
  double network_step_s = 0;      // of a step between nodes, likewise
  double port_achieved = 1;       // of a port's bandwidth within a node
  double card_achieved = 1;       // of a network card's bandwidth
  double in_switch_achieved = 0;  // of a port's bandwidth, in bytes that one brings; 0: no
  double ll_within_bytes_s = 0;   // the most that LL sends in a group on one node,
  double ll_between_bytes_s = 0;  // and on several
  Choices within, between;        // of groups on one node, and on several
};

// A group as its price sees it.
struct Extent {
  int members = 1;
  int nodes = 1;  // on how many they are
};

struct Network;

std::string_view name_of(Wire wire);            // "nvlink"
std::string_view name_of(Algorithm algorithm);  // "ring"
std::string_view name_of(Protocol protocol);    // "LL"

struct Price {
  double seconds = 0;
  Algorithm algorithm = Algorithm::ring;  // of an all_reduce; where there is no choice, ring
  Protocol protocol = Protocol::simple;
};

// The cheapest of what the library may choose.
//   bytes     that one member brings
//   Requires  network.library; members ≥ nodes ≥ 1; each list of choices allows something
Price library_price(Collective collective, const Extent& group, std::int64_t bytes,
                    const Network& network);

}  // namespace lockstep::sim
