// The prices of native collectives. Each is one operation of the core, with a price; a library's
// price is in library.hpp. Without a library, for N members, b bytes that one member brings (the
// most, where they differ), each step one latency and one gap:
//
//   all_reduce      2(N-1) steps of b/N bytes (a ring)
//   reduce_scatter  N-1 steps of b/N bytes (a ring)
//   all_gather      N-1 steps of b bytes (a ring)
//   reduce          ⌈log₂N⌉ steps of b bytes
//   broadcast       ⌈log₂N⌉ steps of b bytes
//   gather          N-1 steps of b bytes, all at the root's port
//   scatter         N-1 steps of b/N bytes, all at the root's port
//   all_to_all      N-1 steps of b/N bytes
//   barrier         2⌈log₂N⌉ steps of nothing; a split costs the same
//
// On M nodes some of the steps lead from node to node: of a ring M-1 of N-1, of ⌈log₂N⌉ levels
// ⌈log₂M⌉, of the rest all but those within one node of N/M. They take the latency of that link. A
// ring's bytes flow through the slowest place: a rank's port to its node, or the network cards of
// the N/M ranks in a node together, since as many rings run side by side.
#pragma once

#include <cstdint>

#include "engine/sim/model/network.hpp"
#include "engine/sim/wire/request.hpp"

namespace lockstep::sim {

//   bytes  that one member brings
//   Requires members ≥ nodes ≥ 1
double price_s(Collective collective, const Extent& group, std::int64_t bytes,
               const Network& network);

// The payload that the members of a collective send together, and the part of it that goes from
// node to node: of a ring's N links M, of a tree's N-1 links M-1, of pairs all but those within one
// node.
struct SentBytes {
  std::int64_t all = 0, left_node = 0;
  SentBytes& operator+=(const SentBytes& other);
  friend bool operator==(const SentBytes&, const SentBytes&) = default;
};
//   bytes, Requires  as above
SentBytes sent_bytes(Collective collective, const Extent& group, std::int64_t bytes);

}  // namespace lockstep::sim
