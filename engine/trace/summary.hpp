// Sums up a timeline, rank by rank.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/trace/timeline.hpp"

namespace lockstep::trace {

// Times are lengths of unions: two things at once count once.
struct RankSummary {
  int rank = 0;
  double compute_s = 0;
  double communication_s = 0;  // something of this rank is on its way, to it or from it
  double exposed_s = 0;        // of that, while the rank does not compute
  double waiting_s = 0;        // some strand is blocked
  std::int64_t messages_sent = 0, messages_received = 0;
  std::int64_t bytes_sent = 0, bytes_received = 0;  // of messages
  std::int64_t collective_bytes = 0;                // tensor bytes of native collectives
};
//   Throws  ContractError when something in it is of a rank that the timeline does not have
std::vector<RankSummary> summary_of(const Timeline& timeline);

// 1 - exposed / total communication time, over all ranks; 0 where nothing is communicated.
double overlap_of(const std::vector<RankSummary>& ranks);

}  // namespace lockstep::trace
