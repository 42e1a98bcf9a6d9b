// The places of the ranges that a rank owns of each parameter, where the state is sharded.
#pragma once

#include <vector>

#include "engine/parallel/zero/sharded_units.hpp"
#include "engine/train/layout.hpp"

namespace lockstep::train {

// The layout of what is owned, and of nothing else.
//   layout  of the parameters that are sharded: ranges are of the elements that it says
Layout layout_of(const std::vector<zero::ShardedUnits::Owned*>& owned, const Layout& layout);

}  // namespace lockstep::train
