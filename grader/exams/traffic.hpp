// What a case cost on the wire, from what the judge itself routed and priced.
#pragma once

#include <cstdint>

#include "engine/sim/core.hpp"

namespace lockstep::grader {

// Payload bytes the busiest rank sent: its messages, plus the native collectives it joined at the
// volume of their usual algorithm, B = bytes of one rank's tensor, N = ranks of the group:
//   all_reduce 2(N-1)/N·B (ring), all_gather (N-1)·B (ring), broadcast B (tree, rounded up to one
//   copy per rank), barrier 0.
double busiest_rank_bytes(const sim::Counters& counters);

// Payload bytes all ranks sent together, with the same prices; a broadcast is N-1 copies, however
// it is routed.
double total_bytes(const sim::Counters& counters);

// What a ring all-reduce of `bytes` costs one rank: 2(N-1)/N · bytes.
double ring_bytes(std::int64_t bytes, int ranks);

}  // namespace lockstep::grader
