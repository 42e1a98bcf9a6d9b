// The maker of ZeRO's and FSDP's strategies, and the options that both read.
#pragma once

#include "engine/base/options.hpp"
#include "engine/train/strategies/zero.hpp"
#include "engine/train/way_maker.hpp"

namespace lockstep::train {

//   Throws  UsageError when a number is out of range
ZeroOptions zero_options(const Arguments& arguments);
// The same on nodes: each has a copy of what --fsdp hybrid_shard shards, unless --shard-ranks says
// otherwise.
//   Throws  UsageError also as shard_ranks_by_node
ZeroOptions zero_options_on(const Arguments& arguments, int ranks, int ranks_per_node);

// The makers of both ways: they differ in what they are called.
class ShardingMaker final : public WayMaker {
 public:
  std::unique_ptr<Strategy> make(Making& making) const override;
  void check(const Arguments& arguments, const nn::ModelSpec& model, int ranks) const override;
  int shares(const Arguments& arguments, int ranks) const override;
  std::string_view reduction() const override;
  void check_memory(const Arguments& arguments, const Recipe& recipe,
                    std::span<const std::int64_t> batches, const DeviceRoom& room) const override;
};

}  // namespace lockstep::train
