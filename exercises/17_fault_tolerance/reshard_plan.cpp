// Task: N ranks have saved a tensor, and M ranks load it. Decide what one of the M reads: which
// elements of which source, in the order in which the rank holds them. The contract is in
// engine/checkpoint/reshard_plan.hpp; boxes, and what can be done with them, are in
// engine/tensor/box.hpp.
#include "engine/checkpoint/reshard_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/checkpoint/storage.hpp"

namespace lockstep::checkpoint {

// >>> your code
// <<< your code

std::vector<Stretch> reshard(const ShardPlan& saved, const ShardPlan& wanted, int rank) {
  LOCKSTEP_CHECK(rank >= 0 && static_cast<std::size_t>(rank) < wanted.size(), "reshard: rank ",
                 rank, " of ", wanted.size(), "; ranks count from 0");
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)saved, (void)wanted, (void)rank;
  throw NotImplemented("reshard_plan");
  // <<< your code
}

}  // namespace lockstep::checkpoint
