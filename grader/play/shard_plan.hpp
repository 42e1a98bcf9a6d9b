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
