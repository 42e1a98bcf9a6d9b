#include "engine/train/strategies/sharding_maker.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/base/units.hpp"
#include "engine/train/strategies/pipeline.hpp"
#include "engine/train/strategies/zero_memory.hpp"
#include "engine/train/ways/zero.hpp"

namespace lockstep::train {
namespace {

zero::Sharding sharding_of(const Arguments& arguments) {
  if (arguments.has("--zero 1")) return zero::Sharding::zero_1;
  if (arguments.has("--zero 2")) return zero::Sharding::zero_2;
  if (arguments.has("--fsdp no_shard")) return zero::Sharding::no_shard;
  if (arguments.has("--fsdp shard_grad_op")) return zero::Sharding::shard_grad_op;
  return zero::Sharding::full_shard;
}

zero::Offload offload_of(const Arguments& arguments) {
  if (!arguments.given("offload")) return zero::Offload::nothing;
  if (arguments.has("--offload optimizer")) return zero::Offload::optimizer;
  if (gathers_parameters(arguments)) return zero::Offload::all;
  throw UsageError(
      "--offload all takes shards of parameters to the host, but here every rank computes with "
      "whole parameters; pass --offload optimizer, or shard them with --fsdp full_shard");
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
  options.sharding.offload = offload_of(arguments);
  if (arguments.has("--shards rows")) options.sharding.cut = zero::Cut::rows;
  const bool whole = arguments.has("--zero 1") || arguments.has("--accumulate-in whole");
  if (whole) options.accumulate = AccumulateIn::whole;
  if (arguments.given("shard-ranks")) options.shard_ranks = number("shard-ranks", 1);
  options.overlaps = overlaps(arguments);
  return options;
}

ZeroOptions zero_options_on(const Arguments& arguments, int ranks, int ranks_per_node) {
  ZeroOptions options = zero_options(arguments);
  const bool by_node = arguments.has("--fsdp hybrid_shard") && !arguments.given("shard-ranks");
  if (by_node) options.shard_ranks = shard_ranks_by_node(ranks, ranks_per_node);
  return options;
}

std::unique_ptr<Strategy> ShardingMaker::make(Making& making) const {
  const TrainingRanks ranks = making.ranks();
  const mesh::AxisSizes& sizes = ranks.sizes();
  // Ranks that share experts hold different ones, which a stage shards apart; the model is one
  // stage.
  if (sizes.ep > 1) {
    return make_pipeline(ranks, making.device, making.recipe, making.clip_norm,
                         {.state = StageState::sharded});
  }
  // Neighbours in dp are as many ranks apart as share a layer.
  const int replicas_per_node = (making.ranks_per_node + sizes.tp * sizes.cp * sizes.ep - 1) /
                                (sizes.tp * sizes.cp * sizes.ep);
  ZeroOptions options =
      zero_options_on(making.arguments, ranks.replicas().size(), replicas_per_node);
  options.strands = making.strands;
  options.host = making.host;
  options.watch = making.watch_collectives;
  return make_zero(ranks, making.device, making.recipe, making.clip_norm, options);
}

void ShardingMaker::check(const Arguments& arguments, const nn::ModelSpec&, int ranks) const {
  train::check(zero_options(arguments), ranks);
  if (overlaps(arguments)) return;
  const auto refuse = [](const std::string& what, const std::string& why) {
    throw UsageError(what + " with --no-overlap is no run: " + why);
  };
  if (arguments.has("--zero 1") && arguments.has("--optimizer sgd")) {
    refuse("--zero 1 --optimizer sgd",
           "the part of ZeRO 1 is Adam's; pass --optimizer adamw, or leave --no-overlap out");
  }
  if (arguments.has("--zero 1") && arguments.has("--dtype float16")) {
    refuse("--zero 1 --dtype float16",
           "the part of ZeRO 1 skips no step whose gradients overflow; pass --dtype bfloat16, or "
           "leave --no-overlap out");
  }
  if (arguments.integer("ep", 1) > 1) {
    refuse("--ep",
           "ranks that share experts shard them apart, which only the overlapping form "
           "does; leave --no-overlap out");
  }
  if (precision_of(arguments).masters) {
    refuse("--masters",
           "the parts of --zero and --fsdp update weights in the type of the passes; "
           "leave one of them out");
  }
}

int ShardingMaker::shares(const Arguments& arguments, int ranks) const {
  train::check(zero_options(arguments), ranks);
  return ranks;
}

std::string_view ShardingMaker::reduction() const { return "unit by unit"; }

std::string ShardingMaker::note(const Arguments& arguments, const nn::ModelSpec& model) const {
  ZeroOptions options = zero_options(arguments);
  options.sharding = with_types(options.sharding, precision_of(arguments));
  if (options.sharding.offload == zero::Offload::nothing) return "";
  const HostTraffic copies = copies_of_step(
      options, model, static_cast<int>(arguments.integer("ranks", 1)), accumulate(arguments));
  return text("a step copies ", bytes_text(copies.down), " of gradients down to the host and ",
              bytes_text(copies.up), " of parameters up, a rank\n");
}

void ShardingMaker::check_memory(const Arguments& arguments, const Recipe& recipe,
                                 std::span<const std::int64_t> batches,
                                 const DeviceRoom& room) const {
  // Only ranks with the same share of each layer shard it among them.
  const std::int64_t tp = arguments.integer("tp", 1);
  const auto ranks =
      static_cast<int>(std::max<std::int64_t>(1, arguments.integer("ranks", 1) / tp));
  const auto neighbours = static_cast<int>((room.ranks_per_node + tp - 1) / tp);
  train::check_memory(zero_options_on(arguments, ranks, neighbours), recipe, ranks, batches,
                      accumulate(arguments), room);
}

}  // namespace lockstep::train
