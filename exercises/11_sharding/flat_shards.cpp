// Task: decide which rank owns which elements of which parameters. The parameters are laid end to
// end into one flat tensor, which is cut into ranges of equal size, one for each rank. The contract
// is in engine/parallel/zero/flat_shards.hpp.
#include "engine/parallel/zero/flat_shards.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace lockstep::zero {

FlatShards flat_shards(std::span<const std::int64_t> numels, int ranks) {
  LOCKSTEP_CHECK(ranks >= 1, "flat_shards: ", ranks, " ranks; at least one owns something");
  for (const std::int64_t numel : numels) {
    LOCKSTEP_CHECK(numel >= 0, "flat_shards: a parameter of ", numel, " elements");
  }
  // >>> your code
  // Avoids warnings about parameters that are not used yet.
  (void)numels, (void)ranks;
  throw NotImplemented("flat_shards");
  // <<< your code
}

}  // namespace lockstep::zero
