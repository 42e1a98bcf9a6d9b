// The price of a computation on shards: the bytes that its collectives move, as the judge counts
// them, beside what usual mistakes move.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "grader/judge/case_runner.hpp"

namespace lockstep::grader {

struct WirePrice {
  double enough = 0;    // bytes from the busiest rank
  std::string of_what;  // "a reduce-scatter and an all-gather in each of 10 steps"
  // Bytes that mistakes send, and the cause of any others.
  std::vector<std::pair<double, Cause>> mistakes{};
  Cause otherwise{"too_many_bytes", "something is sent that nobody needs, or sent more than once"};
};

// The bytes that a reduce-scatter or an all-gather of `bytes` in all costs one rank: (N-1)/N ·
// bytes.
double shard_bytes(std::int64_t bytes, int ranks);

void check_wire(CaseRunner& runner, const Played& played, const WirePrice& price);
// A contract that asks for transfers has a least price. A part that sends less has kept what it
// must not (`kept`).
//   of_what  as sentences go on: "two all-gathers of each unit"
void check_wire_least(CaseRunner& runner, const Played& played, double least,
                      const std::string& of_what, const Cause& kept);

}  // namespace lockstep::grader
