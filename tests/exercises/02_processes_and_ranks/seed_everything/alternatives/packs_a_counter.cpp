// Task: make of one run seed the seeds of every stream that a rank needs. Some streams must be the
// same on many ranks, others must be different on each; which is which, and why, stands in
// engine/base/seeds.hpp. random_bits (engine/base/random.hpp) mixes a seed and an index into 64
// bits that look like no other pair's.
#include "engine/base/seeds.hpp"

#include <initializer_list>

#include "engine/base/error.hpp"
#include "engine/base/random.hpp"

namespace lockstep {

Seeds seeds_for(std::uint64_t run_seed, const MeshCoordinates& where, int loader_worker) {
  LOCKSTEP_CHECK(where.data >= 0 && where.tensor >= 0 && where.pipeline >= 0 && loader_worker >= 0,
                 "seeds_for: data rank ", where.data, ", tensor rank ", where.tensor,
                 ", pipeline stage ", where.pipeline, ", loader worker ", loader_worker,
                 "; all of them count from 0");
  // >>> your code
  // One counter for a place and a purpose, wide enough that no two of them meet, and one mixing.
  // The run seed is mixed first, so that neighbouring run seeds are far apart.
  const auto at = [&](std::uint64_t purpose, int a, int b, int c) {
    std::uint64_t counter = purpose << 60;
    counter |= static_cast<std::uint64_t>(a) << 36;
    counter |= static_cast<std::uint64_t>(b) << 18;
    counter |= static_cast<std::uint64_t>(c);
    return random_bits(random_bits(run_seed, 0), counter);
  };
  return {.model = at(1, 0, 0, 0),
          .sampler = at(2, 0, 0, 0),
          .dropout = at(3, where.data, where.pipeline, 0),
          .dropout_sharded = at(4, where.data, where.pipeline, where.tensor),
          .augmentation = at(5, where.data, loader_worker, 0)};
  // <<< your code
}

}  // namespace lockstep
