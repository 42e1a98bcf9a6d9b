#include "engine/train/ways/async.hpp"

#include "engine/train/strategies/async.hpp"
#include "engine/train/way_maker.hpp"

namespace lockstep::train {
namespace {

// "inf", or the steps that a worker may be ahead.
std::int64_t staleness_of(const Arguments& arguments) {
  if (arguments.get("staleness") == "inf") return async_sgd::unbounded;
  const std::int64_t steps = arguments.integer("staleness");
  if (steps >= 0) return steps;
  throw UsageError(text("--staleness ", steps, ": no worker can be that many steps ahead of the ",
                        "slowest; pass 0 to keep all in step, a positive number, or inf"));
}

AsyncOptions options_of(const Arguments& arguments) {
  AsyncOptions options;
  options.staleness = staleness_of(arguments);
  if (!arguments.given("servers")) return options;
  const std::int64_t servers = arguments.integer("servers", 1);
  if (servers > 1 << 20) throw UsageError(text("--servers ", servers, " is more than 1,048,576"));
  options.servers = static_cast<int>(servers);
  return options;
}

class AsyncMaker final : public WayMaker {
 public:
  std::unique_ptr<Strategy> make(Making& making) const override {
    AsyncOptions options = options_of(making.arguments);
    options.strands = making.strands;
    options.tell = making.tell;
    options.on_spare = making.on_spare;
    return make_async(making.group, making.device, making.recipe, making.clip_norm, options);
  }
  void check(const Arguments& arguments, const nn::ModelSpec&, int ranks) const override {
    train::check(options_of(arguments), ranks);
  }
  Pace pace() const override { return Pace::apart; }
  std::string_view reduction() const override { return "by parameter servers"; }
};

}  // namespace

const WayMaker& async_maker() {
  static const AsyncMaker maker;
  return maker;
}

}  // namespace lockstep::train
