// Task: from one run seed, make the seeds of every stream that a rank needs. Some streams must be
// equal on many ranks, others must differ on each; engine/base/seeds.hpp says which, and why.
// random_bits (engine/base/random.hpp) mixes a seed and an index into 64 bits that look like no
// other pair's.
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
  // Avoids warnings about parameters that are not used yet.
  (void)run_seed, (void)where, (void)loader_worker;
  throw NotImplemented("seed_everything");
  // <<< your code
}

}  // namespace lockstep
