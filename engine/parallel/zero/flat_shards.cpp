#include "engine/parallel/zero/flat_shards.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace lockstep::zero {

std::int64_t FlatShards::padding(int rank) const {
  std::int64_t filled = 0;
  for (const ShardPiece& piece : ranks.at(static_cast<std::size_t>(rank))) {
    filled += piece.end - piece.begin;
  }
  return shard - filled;
}

FlatShards row_shards(std::span<const Shape> shapes, int ranks) {
  LOCKSTEP_CHECK(ranks >= 1, "row_shards: ", ranks, " ranks; at least one owns something");
  FlatShards plan;
  plan.ranks.resize(static_cast<std::size_t>(ranks));
  for (std::size_t p = 0; p < shapes.size(); ++p) {
    const std::int64_t numel = numel_of(shapes[p]);
    const std::int64_t rows = shapes[p].empty() ? 1 : shapes[p].front();
    const std::int64_t row = rows > 0 ? numel / rows : 0;
    const std::int64_t of_rank = (rows + ranks - 1) / ranks * row;  // elements
    for (int rank = 0; rank < ranks; ++rank) {
      const std::int64_t begin = rank * of_rank, end = std::min(begin + of_rank, numel);
      if (begin >= end) continue;
      plan.ranks[static_cast<std::size_t>(rank)].push_back({p, begin, end, plan.shard});
    }
    plan.shard += of_rank;
    plan.count += numel;
  }
  return plan;
}

}  // namespace lockstep::zero
