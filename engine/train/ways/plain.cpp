#include "engine/train/ways/plain.hpp"

#include "engine/train/strategies/plain.hpp"
#include "engine/train/way_maker.hpp"

namespace lockstep::train {
namespace {

class PlainMaker final : public WayMaker {
 public:
  std::unique_ptr<Strategy> make(Making& making) const override {
    return make_plain(making.ranks(), make_replica(making.recipe, making.device), making.clip_norm);
  }
  std::string_view reduction() const override { return "after backward"; }
};

}  // namespace

const WayMaker& plain_maker() {
  static const PlainMaker maker;
  return maker;
}

}  // namespace lockstep::train
