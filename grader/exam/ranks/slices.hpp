// Samples whose tokens are dealt to the ranks of a group: who has which positions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/tensor/positions.hpp"
#include "grader/exam/ranks/dealt.hpp"

namespace lockstep::grader {

// equal: rank r has the r-th of N ranges, whose lengths differ by one at most; turned: the same,
// and the first rank has the last range. zigzag: of 2N ranges, those at r and 2N-1-r.
enum class Cut : std::uint8_t { equal, turned, zigzag };

inline std::vector<Positions> slices_of(Cut cut, std::int64_t tokens, int ranks) {
  const auto range = [&](std::int64_t at, std::int64_t of) {
    const std::int64_t first = at * tokens / of;
    return TokenRange{first, (at + 1) * tokens / of - first};
  };
  std::vector<Positions> all;
  for (std::int64_t r = 0; r < ranks; ++r) {
    if (cut == Cut::zigzag) {
      all.push_back({range(r, 2 * ranks), range(2 * ranks - 1 - r, 2 * ranks)});
    } else {
      all.push_back({range(cut == Cut::turned ? ranks - 1 - r : r, ranks)});
    }
  }
  return all;
}

inline std::string name_of(Cut cut) {
  return cut == Cut::equal ? "" : cut == Cut::turned ? ", the last tokens on rank 0" : ", zigzag";
}

// The place of a token: which rank has it, and where in its slice.
struct TokenPlace {
  int rank = 0;
  std::int64_t index = 0;
};
inline std::vector<TokenPlace> places_of_tokens(const std::vector<Positions>& slices) {
  std::int64_t tokens = 0;
  for (const Positions& slice : slices) tokens += slice.count();
  std::vector<TokenPlace> all(static_cast<std::size_t>(tokens));
  for (std::size_t rank = 0; rank < slices.size(); ++rank) {
    for (std::int64_t i = 0; i < slices[rank].count(); ++i) {
      all[static_cast<std::size_t>(slices[rank].of(i))] = {static_cast<int>(rank), i};
    }
  }
  return all;
}

// A whole of [outer, S, columns], of which each rank has its tokens, and of these the columns
// [first, first + count).
inline Dealt dealt_by_tokens(const std::string& name, const std::vector<Positions>& slices,
                             std::int64_t outer, std::int64_t columns, std::int64_t first,
                             std::int64_t count) {
  std::int64_t tokens = 0;
  for (const Positions& slice : slices) tokens += slice.count();
  std::vector<std::vector<std::int64_t>> places;
  for (const Positions& slice : slices) {
    auto& mine = places.emplace_back();
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t i = 0; i < slice.count(); ++i) {
        const std::int64_t from = (o * tokens + slice.of(i)) * columns + first;
        for (std::int64_t c = 0; c < count; ++c) mine.push_back(from + c);
      }
    }
  }
  return {{{name, outer * tokens * columns}}, std::move(places)};
}

}  // namespace lockstep::grader
