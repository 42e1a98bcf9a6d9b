// Positions of tokens in their sample, as at most two ranges: what a rank has of a sample that is
// cut into equal slices, or cut so that causal attention costs every rank the same (zigzag).
//
// Tokens lie in increasing order of position. So the keys that a query sees, those no later than
// itself, are the first few of any block, and one number takes the place of a mask.
// A value: kernels take it as it is. Every function runs on GPUs, too.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lockstep {

// Positions first, first + 1, …, `count` of them.
struct TokenRange {
  std::int64_t first = 0;
  std::int64_t count = 0;

  constexpr std::int64_t end() const { return first + count; }
  // Counts those before `position`.
  constexpr std::int64_t before(std::int64_t position) const {
    return std::max<std::int64_t>(std::min(position - first, count), 0);
  }
  bool operator==(const TokenRange&) const = default;
};

//   Requires  late is empty, or begins where early ends or later
struct Positions {
  TokenRange early;
  TokenRange late = {};

  constexpr std::int64_t count() const { return early.count + late.count; }
  // The position of the token that lies at `index`, from 0 on.
  constexpr std::int64_t of(std::int64_t index) const {
    return index < early.count ? early.first + index : late.first + index - early.count;
  }
  // Counts the tokens before `position`, which are the first so many.
  constexpr std::int64_t before(std::int64_t position) const {
    return early.before(position) + late.before(position);
  }
  bool operator==(const Positions&) const = default;
};

// Pairs of a query and a key that it sees: the key's position is no later than the query's.
std::int64_t pairs_seen(const Positions& queries, const Positions& keys);

}  // namespace lockstep
