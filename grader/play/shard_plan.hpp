// The plan of who owns what, as it crosses between judge and player.
#pragma once

#include "engine/base/fields.hpp"
#include "engine/parallel/zero/flat_shards.hpp"

namespace lockstep::zero {

template <typename Archive>
void fields(Archive& archive, ShardPiece& piece) {
  archive(piece.parameter, piece.begin, piece.end, piece.offset);
}
template <typename Archive>
void fields(Archive& archive, FlatShards& plan) {
  archive(plan.count, plan.shard, plan.starts, plan.ranks);
}

}  // namespace lockstep::zero

namespace lockstep::grader {

// A cut of numbers as one of the elements in which they stand (play/filler.hpp).
inline zero::FlatShards filled(zero::FlatShards cut, std::int64_t filler) {
  cut.count *= filler;
  cut.shard *= filler;
  for (std::int64_t& start : cut.starts) start *= filler;
  for (auto& pieces : cut.ranks) {
    for (zero::ShardPiece& piece : pieces) {
      piece.begin *= filler, piece.end *= filler, piece.offset *= filler;
    }
  }
  return cut;
}

}  // namespace lockstep::grader
