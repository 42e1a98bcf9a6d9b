// The maker of ZeRO's and FSDP's strategies, and the options that both read.
#pragma once

#include "engine/base/options.hpp"
#include "engine/train/strategies/zero.hpp"
#include "engine/train/way_maker.hpp"

namespace lockstep::train {

//   Throws  UsageError when a number is out of range, or when --shard-ranks is missing
ZeroOptions zero_options(const Arguments& arguments);

// The makers of both ways: they differ in what they are called.
class ShardingMaker final : public WayMaker {
 public:
  std::unique_ptr<Strategy> make(Making& making) const override;
  void check(const Arguments& arguments, const nn::ModelSpec& model, int ranks) const override;
  int shares(const Arguments& arguments, int ranks) const override;
  std::string_view reduction() const override;
  std::string note(const Arguments& arguments, const nn::ModelSpec& model) const override;
  void check_memory(const Arguments& arguments, const Recipe& recipe,
                    std::span<const std::int64_t> batches, const DeviceRoom& room) const override;
};

}  // namespace lockstep::train
