// Task: make of one run seed the seeds of every stream that a rank needs. Some streams must be the
// same on many ranks, others must be different on each; which is which, and why, stands in
// engine/base/seeds.hpp. random_bits (engine/base/random.hpp) mixes a seed and an index into 64
// bits that look like no other pair's.
#include "engine/base/seeds.hpp"

#include <random>

#include "engine/base/error.hpp"

namespace lockstep {

Seeds seeds_for(std::uint64_t run_seed, const MeshCoordinates& where, int loader_worker) {
  LOCKSTEP_CHECK(where.data >= 0 && where.tensor >= 0 && where.pipeline >= 0 && loader_worker >= 0,
                 "seeds_for: data rank ", where.data, ", tensor rank ", where.tensor,
                 ", pipeline stage ", where.pipeline, ", loader worker ", loader_worker,
                 "; all of them count from 0");
  // >>> your code
  // std::seed_seq mixes a list of numbers; the generator it seeds gives 64 bits.
  const auto low = static_cast<std::uint32_t>(run_seed);
  const auto high = static_cast<std::uint32_t>(run_seed >> 32);
  const auto drawn = [](std::seed_seq sequence) { return std::mt19937_64(sequence)(); };
  const auto of = [](int number) { return static_cast<std::uint32_t>(number); };
  Seeds seeds;
  seeds.model = seeds.sampler = drawn({low, high, 0U});
  seeds.dropout = drawn({low, high, 1U, of(where.data), of(where.pipeline)});
  seeds.dropout_sharded =
      drawn({low, high, 2U, of(where.data), of(where.pipeline), of(where.tensor)});
  seeds.augmentation = drawn({low, high, 3U, of(where.data), of(loader_worker)});
  return seeds;
  // <<< your code
}

}  // namespace lockstep
