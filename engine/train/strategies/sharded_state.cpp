#include "engine/train/strategies/sharded_state.hpp"

namespace lockstep::train {

Layout layout_of(const std::vector<zero::ShardedUnits::Owned*>& owned, const Layout& layout) {
  std::vector<ParameterPlace> places;
  for (const zero::ShardedUnits::Owned* one : owned) {
    ParameterPlace place = layout.of(one->parameter.name);
    place.boxes = range_of(place.boxes, one->begin, one->end);
    places.push_back(std::move(place));
  }
  return Layout(std::move(places));
}

}  // namespace lockstep::train
