#include "engine/train/ways/ddp.hpp"

#include "engine/train/buckets.hpp"
#include "engine/train/strategies/ddp.hpp"
#include "engine/train/way_maker.hpp"

namespace lockstep::train {
namespace {

class DdpMaker final : public WayMaker {
 public:
  std::unique_ptr<Strategy> make(Making& making) const override {
    const Arguments& arguments = making.arguments;
    DdpRun run{.accumulate = accumulate(arguments), .clip_norm = making.clip_norm};
    run.options.limits = bucket_limits(arguments);
    if (arguments.flag("find-unused")) run.options.unused = ddp::Unused::reduce;
    if (arguments.flag("static-graph")) run.options.unused = ddp::Unused::fixed;
    if (arguments.given("join")) {
      run.join = arguments.has("--join live") ? ddp::JoinDivide::live : ddp::JoinDivide::initial;
    }
    run.hooked = {std::move(making.hook), making.watch};
    const auto& reduce = making.recipe.precision.reduce;
    if (reduce && *reduce != making.recipe.model.dtype) {
      run.hooked.hook = collectives::make_average_hook(*reduce);
    }
    return make_ddp_or_plain(making.ranks(), making.device, making.recipe, std::move(run));
  }
  Deal deal(const Arguments& arguments) const override {
    return arguments.given("join") ? Deal::uneven : Deal::padded;
  }
  void check(const Arguments& arguments, const nn::ModelSpec&, int) const override {
    bucket_limits(arguments);
  }
};

}  // namespace

const WayMaker& ddp_maker() {
  static const DdpMaker maker;
  return maker;
}

}  // namespace lockstep::train
