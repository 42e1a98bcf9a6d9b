// One run seed, and from it every stream of random numbers that a rank draws from. Which ranks
// must draw the same numbers, and which must not, is different for each purpose:
//
//   model       the first weights. The replicas begin equal, so: one stream for the whole run
//   sampler     the order of the samples. All ranks cut their shares from one order: one stream
//   dropout     each data rank has other samples, and wants other masks for them. Tensor-parallel
//               ranks that hold the same activations must drop the same ones, or they are no longer
//               the same: {data, pipeline} have one stream, whatever the tensor rank
//   dropout_sharded  where each tensor rank holds a part of the activations of its own, the parts
//               want masks of their own: {data, pipeline, tensor} have one stream
//   augmentation  loader workers of one rank read different samples: {data, worker} have one
//               stream. Ranks that share a data rank work on the same samples, changed alike
//
// Left out: expert and sequence parallelism; random states that a checkpoint must keep, since
// streams that are counted (engine/base/random.hpp) have none.
#pragma once

#include <cstdint>

namespace lockstep {

// Where a rank stands in the mesh of ranks: its number along each axis, from 0.
struct MeshCoordinates {
  int data = 0;      // which share of the samples
  int tensor = 0;    // which part of each layer
  int pipeline = 0;  // which layers
};

struct Seeds {
  std::uint64_t model = 0;
  std::uint64_t sampler = 0;
  std::uint64_t dropout = 0;          // in regions that all tensor ranks hold alike
  std::uint64_t dropout_sharded = 0;  // in regions of which each tensor rank holds its own part
  std::uint64_t augmentation = 0;
  bool operator==(const Seeds&) const = default;
};

// A part: defined in solutions/02_processes_and_ranks/seed_everything.cpp.
//
// The seeds of loader worker `loader_worker` of the rank at `where`; the rank itself asks as
// worker 0. Which worker asks changes the augmentation only.
//   Ensures   a function of its arguments: the same today and tomorrow, in every process
//             ranks that are to share a stream (above) get the same seed
//             any other two streams have different seeds: of other ranks, of other purposes
//             (model and sampler may have the same), of other run seeds, be they only 1 apart
//   Throws    ContractError when a coordinate or the worker is negative
//   Source    replicated and sharded regions: Megatron-LM megatron/core/tensor_parallel/random.py
Seeds seeds_for(std::uint64_t run_seed, const MeshCoordinates& where, int loader_worker);

}  // namespace lockstep
