// The all-reduces there are: the group's own, and the parts of lesson 06.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::collectives {

enum class AllReduce : std::uint8_t { native, naive, ring, tree, halving_doubling, hierarchical };

// Their names on a command line, in this order.
inline std::vector<std::string> all_reduce_names() {
  return {"native", "naive", "ring", "tree", "halving-doubling", "hierarchical"};
}

}  // namespace lockstep::collectives
