// All bounds are written down. The place of a position is found among them by a search.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/parallel/sequence/zigzag_split.hpp"

namespace lockstep::sequence_parallel {
namespace {

std::vector<std::int64_t> bounds_of(std::int64_t length, int ranks) {
  const std::int64_t chunks = std::int64_t{2} * ranks;
  LOCKSTEP_CHECK(ranks >= 1 && length >= chunks, "too few tokens: ", length);
  std::vector<std::int64_t> bounds;
  for (std::int64_t c = 0; c <= chunks; ++c) bounds.push_back(c * length / chunks);
  return bounds;
}
TokenRange between(const std::vector<std::int64_t>& bounds, std::size_t chunk) {
  return {bounds[chunk], bounds[chunk + 1] - bounds[chunk]};
}

}  // namespace

Positions zigzag(std::int64_t length, int ranks, int rank) {
  LOCKSTEP_CHECK(rank >= 0 && rank < ranks, "no such rank: ", rank);
  const auto bounds = bounds_of(length, ranks);
  const auto early = static_cast<std::size_t>(rank);
  return {between(bounds, early), between(bounds, bounds.size() - 2 - early)};
}

TokenPlace zigzag_place(std::int64_t length, int ranks, std::int64_t position) {
  LOCKSTEP_CHECK(position >= 0 && position < length, "no such position: ", position);
  const auto bounds = bounds_of(length, ranks);
  const auto behind = std::upper_bound(bounds.begin(), bounds.end(), position);
  const auto chunk = static_cast<std::size_t>(behind - bounds.begin()) - 1;
  const std::size_t mirror = bounds.size() - 2 - chunk;
  const std::int64_t index = position - bounds[chunk];
  if (chunk < mirror) return {static_cast<int>(chunk), index};
  return {static_cast<int>(mirror), between(bounds, mirror).count + index};
}

}  // namespace lockstep::sequence_parallel
