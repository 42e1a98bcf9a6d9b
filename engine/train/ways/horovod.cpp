#include "engine/train/ways/horovod.hpp"

#include "engine/train/strategies/horovod.hpp"
#include "engine/train/way_maker.hpp"

namespace lockstep::train {
namespace {

constexpr std::int64_t mib = 1 << 20;
static_assert(horovod::HorovodOptions{}.fusion_threshold_bytes == usual_fusion_mb * mib);

horovod::HorovodOptions options_of(const Arguments& arguments) {
  horovod::HorovodOptions options;
  const double fusion_mb = arguments.number("fusion-threshold-mb", 0);
  if (fusion_mb > 1 << 20) throw UsageError("--fusion-threshold-mb is more than 1,048,576");
  options.fusion_threshold_bytes = static_cast<std::int64_t>(fusion_mb * static_cast<double>(mib));
  options.cycle_s = arguments.number("cycle-time-ms", 0) / 1000;
  if (options.cycle_s > 1) throw UsageError("--cycle-time-ms is more than 1000, one second");
  if (arguments.get("horovod-op") == "sum") options.combine = horovod::Combine::sum;
  return options;
}

class HorovodMaker final : public WayMaker {
 public:
  std::unique_ptr<Strategy> make(Making& making) const override {
    horovod::HorovodOptions options = options_of(making.arguments);
    options.strands = making.strands;
    return make_horovod(making.group, making.device, making.recipe, making.clip_norm, options,
                        making.watch);
  }
  std::int64_t accumulate(const Arguments& arguments) const override {
    return arguments.integer("backward-passes", 1);
  }
  void check(const Arguments& arguments, const nn::ModelSpec&, int) const override {
    options_of(arguments);
  }
};

}  // namespace

const WayMaker& horovod_maker() {
  static const HorovodMaker maker;
  return maker;
}

}  // namespace lockstep::train
