// The case format of seed_everything, shared by adapter and exam.
#pragma once

#include "engine/base/seeds.hpp"
#include "grader/play/part.hpp"

namespace lockstep::grader {

struct SeedQuestion {
  std::uint64_t run_seed = 0;
  MeshCoordinates where;
  int loader_worker = 0;
};

template <typename Archive>
void fields(Archive& archive, SeedQuestion& q) {
  archive(q.run_seed, q.where.data, q.where.tensor, q.where.pipeline, q.loader_worker);
}

}  // namespace lockstep::grader

namespace lockstep {

template <typename Archive>
void fields(Archive& archive, Seeds& seeds) {
  archive(seeds.model, seeds.sampler, seeds.dropout, seeds.dropout_sharded, seeds.augmentation);
}

}  // namespace lockstep
