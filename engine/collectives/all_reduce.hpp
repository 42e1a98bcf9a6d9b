// The all-reduces there are: the group's own, and the parts of lesson 06.
#pragma once

#include <cstdint>

namespace lockstep::collectives {

enum class AllReduce : std::uint8_t { native, naive, ring, tree, halving_doubling, hierarchical };

}  // namespace lockstep::collectives
