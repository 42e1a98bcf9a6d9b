#include "engine/train/make_strategy.hpp"

#include "engine/base/error.hpp"
#include "engine/train/strategies/async.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/horovod.hpp"
#include "engine/train/strategies/pipeline.hpp"
#include "engine/train/strategies/plain.hpp"

namespace lockstep::train {
namespace {

// What was chosen, and what it is made of, go together.
void check_compression(const StrategyOptions& options) {
  const bool chosen = options.choice.hook == Way::compression;
  const bool given = options.compression.compressor != compress::Compressor::none;
  LOCKSTEP_CHECK(chosen == given, "make_strategy: the choice has ", name_of(options.choice.hook),
                 ", but the compression is ", text_of(options.compression),
                 "; set both, or neither");
}

// What a rank without batches brings must be zeros, and the others must not see it as lacking.
void check_join(const StrategyOptions& options) {
  if (!options.join) return;
  if (options.choice.reduction != Way::ddp) {
    throw UsageError(text("uneven inputs (--join) need DDP, not ",
                          name_of(options.choice.reduction), "; leave one of them out"));
  }
  if (options.ddp.unused == ddp::Unused::fixed) {
    throw UsageError(
        "--join does not combine with --static-graph: a rank that has run out uses no parameter; "
        "leave one of them out");
  }
  if (options.choice.hook != Way::no_hook) {
    throw UsageError(
        "--join does not combine with --compress: a rank that has run out of batches "
        "brings zeros, but compressors send what they left out before; leave one of "
        "them out");
  }
}

std::unique_ptr<collectives::CommHook> hook_of(const StrategyOptions& options, int ranks,
                                               std::uint64_t seed) {
  if (options.choice.hook != Way::compression || ranks == 1) return nullptr;
  return compress::make_hook(options.compression, seed);
}

}  // namespace

std::unique_ptr<Strategy> make_strategy(comm::ProcessGroup& group, Device& device,
                                        const Recipe& recipe, const StrategyOptions& options) {
  check(options.choice);
  check_compression(options);
  check_join(options);
  if (options.choice.execution == Way::servers) {
    return make_async(group, device, recipe, options.clip_norm, options.async);
  }
  if (options.choice.execution == Way::pipeline) {
    check(options.pipeline, group.size());
    return make_pipeline(group, device, recipe, options.clip_norm, options.pipeline);
  }
  const bool reduces = group.size() > 1 || options.accumulate > 1;
  switch (options.choice.reduction) {
    case Way::ddp:
      if (reduces) {
        return make_ddp(group, make_replica(recipe, device), options.clip_norm, options.ddp,
                        {hook_of(options, group.size(), recipe.seed), options.watch}, options.join);
      }
      [[fallthrough]];
    case Way::plain:
      return make_plain(group, make_replica(recipe, device), options.clip_norm);
    case Way::horovod:
      return make_horovod(group, device, recipe, options.clip_norm, options.horovod);
    default:
      throw UsageError(text(name_of(options.choice.reduction), " is not built into this engine"));
  }
}

}  // namespace lockstep::train
