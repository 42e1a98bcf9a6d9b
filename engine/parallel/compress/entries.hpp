// How many entries of a gradient travel, and which, when chance chooses them.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::compress {

// fraction · count, rounded to the nearest integer; at least 1 where there is an element, so that
// small tensors are trained, too.
//   Throws  ContractError unless 0 < fraction ≤ 1
std::int64_t entries_of(std::int64_t count, double fraction);

// k different places out of [0, count), ascending; every choice of k places is equally likely. A
// function of its arguments, so ranks that share the seed need not tell each other.
//   Throws  ContractError unless 0 ≤ k ≤ count
//   Cost    k draws, and a bit for every place
//   Source  R. W. Floyd's algorithm [BF87]
std::vector<std::int64_t> random_entries(std::int64_t count, std::int64_t k, std::uint64_t seed);

}  // namespace lockstep::compress
