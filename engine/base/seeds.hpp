// From one run seed, every stream of random numbers that a rank draws from. Each purpose decides
// which ranks must draw the same numbers and which must not:
//
//   model       the first weights. The replicas begin equal: one stream for the whole run
//   sampler     the order of the samples. All ranks cut their shares from one order: one stream
//   dropout     each data rank has different samples, and needs different masks. Tensor-parallel
//               ranks that hold the same activations must drop the same ones, or they would differ:
//               one stream per {data, pipeline}, whatever the tensor rank
//   dropout_sharded  each tensor rank holds its own part of the activations, and needs its own
//               masks: one stream per {data, pipeline, tensor}
//   augmentation  loader workers of one rank read different samples: one stream per {data, worker}.
//               Ranks that share a data rank augment the same samples alike
//
// Left out: expert and sequence parallelism; random states in checkpoints, because counted streams
// (engine/base/random.hpp) have no state.
#pragma once

#include <cstdint>

namespace lockstep {

// The position of a rank in the mesh of ranks: its number along each axis, from 0.
struct MeshCoordinates {
  int data = 0;      // which share of the samples
  int tensor = 0;    // which part of each layer
  int pipeline = 0;  // which layers
};

struct Seeds {
  std::uint64_t model = 0;
  std::uint64_t sampler = 0;
  std::uint64_t dropout = 0;          // for activations that all tensor ranks hold alike
  std::uint64_t dropout_sharded = 0;  // for activations of which each tensor rank holds a part
  std::uint64_t augmentation = 0;
  bool operator==(const Seeds&) const = default;
};

// A part: defined in solutions/02_processes_and_ranks/seed_everything.cpp.
//
// The seeds of loader worker `loader_worker` of the rank at `where`; the rank itself asks as
// worker 0. The worker changes the augmentation only.
//   Ensures   a function of its arguments alone: the same result in every process and every run;
//             ranks that share a stream (above) get the same seed;
//             any two other streams get different seeds: of other ranks, of other purposes (model
//             and sampler may share one), of other run seeds, including neighbors such as s, s + 1
//   Throws    ContractError when a coordinate or the worker is negative
//   Source    replicated and sharded regions: Megatron-LM megatron/core/tensor_parallel/random.py
Seeds seeds_for(std::uint64_t run_seed, const MeshCoordinates& where, int loader_worker);

}  // namespace lockstep
