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
  // One number after the other is mixed in, so that (1, 0) and (0, 1) give different seeds. The
  // purpose comes first: streams of different purposes part at once.
  const auto mixed = [run_seed](std::uint64_t purpose, std::initializer_list<int> numbers) {
    std::uint64_t seed = random_bits(run_seed, purpose);
    for (const int number : numbers) seed = random_bits(seed, static_cast<std::uint64_t>(number));
    return seed;
  };
  Seeds seeds;
  seeds.model = run_seed;
  seeds.sampler = run_seed;
  seeds.dropout = mixed(1, {where.data, where.pipeline});
  seeds.dropout_sharded = mixed(2, {where.data, where.pipeline, where.tensor});
  seeds.augmentation = mixed(3, {where.data, loader_worker});
  return seeds;
  // <<< your code
}

}  // namespace lockstep
