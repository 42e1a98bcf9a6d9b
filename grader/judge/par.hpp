// Par: what a right solution costs beside the best one that is known for its task.
#pragma once

#include <string>
#include <vector>

namespace lockstep::grader {

// One thing that is counted, in the case in which it is furthest from the best.
struct ParCounter {
  std::string name;           // "bytes", "steps", "messages", "time"
  double seen = 0, best = 0;  // bytes sent by the busiest rank, messages, seconds; best is above 0
  std::string where;          // "case 12: 8 ranks, 83 elements of int64"

  double ratio() const { return seen / best; }
};

// True if it is as good as the best, up to rounding.
bool at_par(const ParCounter& counter);

inline constexpr double near_par = 1.25;

// 3: every counter is at par; 2: none is beyond near_par times the best; 1: one is; 0: nothing was
// counted.
int stars_of(const std::vector<ParCounter>& par);

}  // namespace lockstep::grader
