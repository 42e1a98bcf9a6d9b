#include "engine/train/ways/zero.hpp"

#include "engine/train/strategies/sharding_maker.hpp"

namespace lockstep::train {

const WayMaker& zero_maker() {
  static const ShardingMaker maker;
  return maker;
}

}  // namespace lockstep::train
