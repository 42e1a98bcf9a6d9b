#include "engine/train/strategies/sharded_state.hpp"

#include <algorithm>

namespace lockstep::train {

Layout layout_of(const std::vector<zero::ShardedUnits::Owned*>& owned, const Layout& layout) {
  std::vector<ParameterPlace> places;
  for (const zero::ShardedUnits::Owned* one : owned) {
    ParameterPlace place = layout.of(one->parameter.name);
    const std::int64_t held = numel_of(place.boxes);  // what follows is padding
    place.boxes = range_of(place.boxes, std::min(one->begin, held), std::min(one->end, held));
    places.push_back(std::move(place));
  }
  return Layout(std::move(places));
}

}  // namespace lockstep::train
