// The cost of a case on the wire, from what the judge itself routed and priced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "grader/judge/case_runner.hpp"

namespace lockstep::grader {

// Payload bytes the busiest rank sent: its messages, plus the native collectives it joined at the
// volume of their usual algorithm, B = bytes of the largest tensor that one rank brings, N = ranks
// of the group:
//   all_reduce                           2(N-1)/N·B (ring)
//   all_gather                           (N-1)·B (ring)
//   reduce_scatter, scatter, all_to_all  (N-1)/N·B
//   broadcast, reduce, gather            B (a tree, rounded up to one copy per rank)
//   barrier                              0
double busiest_rank_bytes(const sim::Counters& counters);

// Payload bytes all ranks sent together, with the same prices; broadcast, reduce and gather are N-1
// copies, of a scatter only the root sends.
double total_bytes(const sim::Counters& counters);

// "1024": what was measured or computed as a fraction of a byte is rounded.
std::string whole_bytes(double bytes);

// A right result that cost too much. `by` says who sent: "per rank", "from all ranks together".
Failure wasteful(std::string cause, double sent, double allowed, const std::string& by,
                 std::string message);

// The bytes that a ring all-reduce of `bytes` costs one rank: 2(N-1)/N · bytes.
double ring_bytes(std::int64_t bytes, int ranks);

// The operations that a part may ask its group for besides messages. Bytes alone show neither a
// barrier nor many small collectives.
struct Operations {
  std::int64_t collectives = 0;  // that carry data; reduce_scatter and all_gather together are one
  std::int64_t barriers = 0;
  std::string allowed;  // "one all-reduce for each of 6 gradients", as a sentence names them
};
void check_operations(CaseRunner& runner, const Played& played, const Operations& most);

// No rank used a collective of the group itself; `wanted` says what it was to use.
void check_messages_only(CaseRunner& runner, const Played& played, const std::string& wanted);

// A message of another length than its receiver expects, as the core found it.
struct WrongLength {
  int src = 0, dst = 0;  // ranks of the world
  std::int64_t sent = 0, expected = 0;
};
std::optional<WrongLength> wrong_length(const Failure& found);

}  // namespace lockstep::grader
