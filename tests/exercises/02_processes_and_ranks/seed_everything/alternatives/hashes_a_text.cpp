// Task: make of one run seed the seeds of every stream that a rank needs. Some streams must be the
// same on many ranks, others must be different on each; which is which, and why, stands in
// engine/base/seeds.hpp. random_bits (engine/base/random.hpp) mixes a seed and an index into 64
// bits that look like no other pair's.
#include "engine/base/seeds.hpp"

#include <string>

#include "engine/base/error.hpp"

namespace lockstep {

Seeds seeds_for(std::uint64_t run_seed, const MeshCoordinates& where, int loader_worker) {
  LOCKSTEP_CHECK(where.data >= 0 && where.tensor >= 0 && where.pipeline >= 0 && loader_worker >= 0,
                 "seeds_for: data rank ", where.data, ", tensor rank ", where.tensor,
                 ", pipeline stage ", where.pipeline, ", loader worker ", loader_worker,
                 "; all of them count from 0");
  // >>> your code
  // FNV-1a over a description of the stream.
  const auto hashed = [](const std::string& words) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char letter : words) {
      hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    }
    return hash;
  };
  const std::string run = text("run ", run_seed);
  const std::string samples = text(run, " data ", where.data);
  const std::string layers = text(samples, " pipeline ", where.pipeline);
  Seeds seeds;
  seeds.model = hashed(run + " model");
  seeds.sampler = hashed(run + " sampler");
  seeds.dropout = hashed(layers + " dropout");
  seeds.dropout_sharded = hashed(text(layers, " dropout of tensor rank ", where.tensor));
  seeds.augmentation = hashed(text(samples, " augmentation of worker ", loader_worker));
  return seeds;
  // <<< your code
}

}  // namespace lockstep
