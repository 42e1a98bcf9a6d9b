#include "engine/train/ways/fsdp.hpp"

#include "engine/train/strategies/sharding_maker.hpp"

namespace lockstep::train {

const WayMaker& fsdp_maker() {
  static const ShardingMaker maker;
  return maker;
}

}  // namespace lockstep::train
