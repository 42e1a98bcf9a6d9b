#include "engine/train/strategies/sharding_maker.hpp"

#include "engine/base/error.hpp"
#include "engine/train/strategies/zero_memory.hpp"

namespace lockstep::train {
namespace {

zero::Sharding sharding_of(const Arguments& arguments) {
  if (arguments.has("--zero 1")) return zero::Sharding::zero_1;
  if (arguments.has("--zero 2")) return zero::Sharding::zero_2;
  if (arguments.has("--fsdp no_shard")) return zero::Sharding::no_shard;
  if (arguments.has("--fsdp shard_grad_op")) return zero::Sharding::shard_grad_op;
  return zero::Sharding::full_shard;
}

}  // namespace

ZeroOptions zero_options(const Arguments& arguments) {
  ZeroOptions options;
  options.sharding.sharding = sharding_of(arguments);
  const auto number = [&](const char* name, std::int64_t at_least) {
    const std::int64_t value = arguments.integer(name, at_least);
    if (value > 1 << 16) throw UsageError(text("--", name, " ", value, " is more than 65,536"));
    return static_cast<int>(value);
  };
  options.sharding.prefetch = number("prefetch", 0);
  if (arguments.has("--shards rows")) options.sharding.cut = zero::Cut::rows;
  const bool whole = arguments.has("--zero 1") || arguments.has("--accumulate-in whole");
  if (whole) options.accumulate = AccumulateIn::whole;
  if (arguments.given("shard-ranks")) options.shard_ranks = number("shard-ranks", 1);
  return options;
}

ZeroOptions zero_options_on(const Arguments& arguments, int ranks, int ranks_per_node) {
  ZeroOptions options = zero_options(arguments);
  const bool by_node = arguments.has("--fsdp hybrid_shard") && !arguments.given("shard-ranks");
  if (by_node) options.shard_ranks = shard_ranks_by_node(ranks, ranks_per_node);
  return options;
}

std::unique_ptr<Strategy> ShardingMaker::make(Making& making) const {
  return make_zero(making.group, making.device, making.recipe, making.clip_norm,
                   zero_options_on(making.arguments, making.group.size(), making.ranks_per_node));
}

void ShardingMaker::check(const Arguments& arguments, const nn::ModelSpec&, int ranks) const {
  train::check(zero_options(arguments), ranks);
}

int ShardingMaker::shares(const Arguments& arguments, int ranks) const {
  train::check(zero_options(arguments), ranks);
  return ranks;
}

std::string_view ShardingMaker::reduction() const { return "unit by unit"; }

void ShardingMaker::check_memory(const Arguments& arguments, const Recipe& recipe,
                                 std::span<const std::int64_t> batches,
                                 const DeviceRoom& room) const {
  const auto ranks = static_cast<int>(arguments.integer("ranks", 1));
  train::check_memory(zero_options_on(arguments, ranks, room.ranks_per_node), recipe, ranks,
                      batches, accumulate(arguments), room);
}

}  // namespace lockstep::train
