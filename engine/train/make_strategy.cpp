#include "engine/train/make_strategy.hpp"

#include "engine/base/error.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/strategies/plain.hpp"

namespace lockstep::train {

std::unique_ptr<Strategy> make_strategy(comm::ProcessGroup& group, Device& device,
                                        const Recipe& recipe, const StrategyOptions& options) {
  check(options.choice);
  const bool reduces = group.size() > 1 || options.accumulate > 1;
  switch (options.choice.reduction) {
    case Way::ddp:
      if (reduces) {
        return make_ddp(group, make_replica(recipe, device), options.clip_norm, options.ddp);
      }
      [[fallthrough]];
    case Way::plain:
      return make_plain(group, make_replica(recipe, device), options.clip_norm);
    default:
      throw UsageError(text(name_of(options.choice.reduction), " is not built into this engine"));
  }
}

}  // namespace lockstep::train
